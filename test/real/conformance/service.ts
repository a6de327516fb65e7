import { create, type Message, type Registry } from '@bufbuild/protobuf'
import { type Any, anyPack } from '@bufbuild/protobuf/wkt'
import { ConnectError, type HandlerContext } from '@connectrpc/connect'
import { takes } from '../../harness/waits.ts'

// The service of Connect's conformance suite, as its docs/testing_servers.md describes it. The descriptors come with
// the suite, so these are the few fields that are read here.

interface Header {
  name: string
  value: string[]
}

interface ErrorDefinition {
  code: number
  message?: string
  details: Any[]
}

interface Definition {
  responseHeaders: Header[]
  responseTrailers: Header[]
  responseDelayMs: number
}

interface UnaryDefinition extends Definition {
  response:
    | { case: 'responseData'; value: Uint8Array }
    | { case: 'error'; value: ErrorDefinition }
    | { case: undefined }
}

interface StreamDefinition extends Definition {
  responseData: Uint8Array[]
  error?: ErrorDefinition
}

interface Request<D extends Definition> extends Message {
  responseDefinition?: D
}

interface BidiRequest extends Request<StreamDefinition> {
  fullDuplex: boolean
}

/** The implementation of each method but `Unimplemented`. */
export function conformanceService(registry: Registry) {
  const requestInfo = registry.getMessage('connectrpc.conformance.v1.ConformancePayload.RequestInfo')!
  const packed = (message: Message) => anyPack(registry.getMessage(message.$typeName)!, message)

  function infoOf(context: HandlerContext, requests: Any[]): Message {
    const timeoutMs = context.timeoutMs()
    const params = context.requestMethod === 'GET' ? [...new URL(context.url).searchParams] : undefined
    return create(requestInfo, {
      requestHeaders: headersOf(context.requestHeader),
      timeoutMs: timeoutMs === undefined ? undefined : BigInt(Math.round(timeoutMs)),
      requests,
      connectGetInfo: params && { queryParams: headersOf(params) },
    } as Record<string, unknown>)
  }

  function errorOf({ code, message = '', details }: ErrorDefinition, info?: Message): ConnectError {
    const error = new ConnectError(message, code)
    for (const { typeUrl, value } of details) {
      error.details.push({ type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1), value })
    }
    if (info) error.details.push({ desc: requestInfo, value: info })
    return error
  }

  async function respond(definition: UnaryDefinition | undefined, requests: Any[], context: HandlerContext) {
    addMetadata(definition, context)
    const info = infoOf(context, requests)
    await takes(definition?.responseDelayMs ?? 0)
    if (definition?.response.case === 'error') throw errorOf(definition.response.value, info)
    const data = definition?.response.case === 'responseData' ? definition.response.value : undefined
    return { payload: { data, requestInfo: info } }
  }

  const unary = (request: Request<UnaryDefinition>, context: HandlerContext) =>
    respond(request.responseDefinition, [packed(request)], context)

  return {
    unary,
    idempotentUnary: unary,

    async clientStream(requests: AsyncIterable<Request<UnaryDefinition>>, context: HandlerContext) {
      const received: Request<UnaryDefinition>[] = []
      for await (const request of requests) received.push(request)
      return respond(received[0]?.responseDefinition, received.map(packed), context)
    },

    async *serverStream(request: Request<StreamDefinition>, context: HandlerContext) {
      const { responseDefinition: definition } = request
      addMetadata(definition, context)
      let info: Message | undefined = infoOf(context, [packed(request)])
      for (const data of definition?.responseData ?? []) {
        await takes(definition!.responseDelayMs)
        yield { payload: { data, requestInfo: info } }
        info = undefined
      }
      if (definition?.error) throw errorOf(definition.error, info)
    },

    async *bidiStream(requests: AsyncIterable<BidiRequest>, context: HandlerContext) {
      let definition: StreamDefinition | undefined
      let isFullDuplex: boolean | undefined
      let unechoed: Any[] = []
      let sent = 0
      const next = async () => {
        await takes(definition!.responseDelayMs)
        const info = unechoed.length > 0 || sent === 0 ? infoOf(context, unechoed) : undefined
        unechoed = []
        return { payload: { data: definition!.responseData[sent++], requestInfo: info } }
      }
      for await (const request of requests) {
        if (isFullDuplex === undefined) {
          definition = request.responseDefinition
          isFullDuplex = request.fullDuplex
          addMetadata(definition, context)
        }
        unechoed.push(packed(request))
        if (!isFullDuplex) continue
        if (sent >= (definition?.responseData.length ?? 0)) break
        yield await next()
      }
      while (sent < (definition?.responseData.length ?? 0)) yield await next()
      if (definition?.error) throw errorOf(definition.error, sent === 0 ? infoOf(context, unechoed) : undefined)
    },
  }
}

function headersOf(entries: Iterable<[string, string]>): Header[] {
  return Array.from(entries, ([name, value]) => ({ name, value: [value] }))
}

function addMetadata(definition: Definition | undefined, { responseHeader, responseTrailer }: HandlerContext): void {
  const add = (target: Headers, headers: Header[] = []) => {
    for (const { name, value } of headers) for (const one of value) target.append(name, one)
  }
  add(responseHeader, definition?.responseHeaders)
  add(responseTrailer, definition?.responseTrailers)
}

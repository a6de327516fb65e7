import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
} from '@bufbuild/protobuf'
import type { HandlerContext, Interceptor, MethodImplSpec, ServiceImplSpec, UnaryRequest } from '@connectrpc/connect'
import type { Call, RawRequest } from '../call.ts'

type AnyFn = Parameters<Interceptor>[0]

/** A method with one request message. */
export type InProcessMethod = DescMethodUnary | DescMethodServerStreaming

export interface InProcess {
  method: InProcessMethod
  /** Resolves with the response's message. Its headers and trailers are in the request. */
  invoke(request: InProcessRequest): Promise<Message>
  /** The same for a method that returns a stream. */
  open(request: InProcessRequest): Promise<AsyncIterable<Message>>
}

/** Calls an implementation through its interceptors, as the protocol library does, without a transport. */
export function inProcess(spec: MethodImplSpec, interceptors: Interceptor[]): InProcess {
  if (spec.kind !== 'unary' && spec.kind !== 'server_streaming')
    throw new Error(`${spec.method.name} reads a stream, which is not served in process`)
  const { method, kind } = spec
  const impl = spec.impl as (message: Message, context: HandlerContext) => unknown
  const implementation = async (request: InProcessRequest) => {
    const returned = impl(request.message, request)
    return kind === 'unary'
      ? { stream: false, method, message: await returned }
      : { stream: true, method, message: returned }
  }
  const chain = interceptors.reduceRight((next, interceptor) => interceptor(next), implementation as unknown as AnyFn)
  const invoke = async (request: InProcessRequest) => {
    const response = await chain(request as UnaryRequest)
    return messageOf(method, response.message as Message)
  }
  const open = async (request: InProcessRequest) => {
    const response = await chain(request as UnaryRequest)
    return response.message as AsyncIterable<Message>
  }
  return { method, invoke, open }
}

/** An implementation may return the fields of a message only. */
export const messageOf = ({ output }: InProcessMethod, message: Message): Message =>
  message.$typeName ? message : create(output, message)

/** The implementation of a method. */
export function implementationOf(services: ServiceImplSpec[], method: DescMethod): MethodImplSpec {
  const implementation = services.find(({ service }) => service === method.parent)?.methods[method.localName]
  if (!implementation) throw new Error(`nothing implements ${method.name}`)
  return implementation
}

/**
 * The call as interceptors see it, and the context that Connect's `createHandlerContext` creates. Headers and signal
 * are created at their first use: they would be a sixth of the gateway's own work, and most calls use none of them.
 */
export class InProcessRequest implements HandlerContext {
  readonly stream = false
  readonly method: InProcessMethod
  readonly service: InProcessMethod['parent']
  readonly message: Message
  readonly protocolName: string
  readonly requestMethod: string
  readonly url: string
  readonly values: HandlerContext['values']
  readonly contextValues: HandlerContext['values']
  #call: Call
  #requestHeader: Headers | undefined
  #responseHeader: Headers | undefined
  #responseTrailer: Headers | undefined

  constructor(method: InProcessMethod, call: Call, message: Message) {
    this.method = method
    this.service = method.parent
    this.message = message
    this.protocolName = call.protocol
    this.requestMethod = call.raw.method ?? ''
    this.url = call.raw.url ?? ''
    this.values = call.values
    this.contextValues = call.values
    this.#call = call
  }

  get signal() {
    return this.#call.signal
  }

  get requestHeader() {
    this.#requestHeader ??= headersOf(this.#call.raw)
    return this.#requestHeader
  }

  get header() {
    return this.requestHeader
  }

  get responseHeader() {
    this.#responseHeader ??= new Headers()
    return this.#responseHeader
  }

  get responseTrailer() {
    this.#responseTrailer ??= new Headers()
    return this.#responseTrailer
  }

  timeoutMs() {
    const { deadlineMs } = this.#call
    return deadlineMs && deadlineMs - performance.now()
  }

  /** The headers that the implementation has set. */
  get headers(): Record<string, string> | undefined {
    return this.#responseHeader && Object.fromEntries(this.#responseHeader)
  }

  /** The trailers that the implementation has set. REST has none. */
  get trailers(): Record<string, string> | undefined {
    return this.#responseTrailer && Object.fromEntries(this.#responseTrailer)
  }
}

/** A request's headers without the pseudo-headers of HTTP/2. */
export function headersOf(raw: RawRequest): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw.headers)) {
    if (value === undefined || name.startsWith(':')) continue
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one)
  }
  return headers
}

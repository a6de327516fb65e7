import { create, type DescMethodUnary, type Message } from '@bufbuild/protobuf'
import type { HandlerContext, Interceptor, MethodImplSpec, UnaryRequest } from '@connectrpc/connect'
import type { Call, RawRequest } from './call.ts'

type AnyFn = Parameters<Interceptor>[0]
type Invoke = (
  message: Message,
  call: Call,
) => Promise<{ output: Message; headers: Record<string, string> | undefined }>

/** Calls an implementation through its interceptors, as the RPC protocols do, without a transport. */
export function inProcess(spec: MethodImplSpec, interceptors: Interceptor[]): Invoke {
  if (spec.kind !== 'unary') throw new Error(`${spec.method.name} is a stream, which REST cannot serve`)
  const { method, impl } = spec
  const implementation = async (request: RestRequest) => ({
    stream: false,
    method,
    message: await impl(request.message, request.context),
  })
  const chain = interceptors.reduceRight((next, interceptor) => interceptor(next), implementation as unknown as AnyFn)
  return async (message, call) => {
    const context = new RestContext(method, call)
    const response = await chain(new RestRequest(context, message) as UnaryRequest)
    const output = response.message as Message
    return { output: output.$typeName ? output : create(method.output, output), headers: context.responseHeaders() }
  }
}

/**
 * The context that Connect's `createHandlerContext` creates, with headers and signal created at their first use. They
 * would be a sixth of the gateway's own work, and most calls use none of them.
 */
class RestContext implements HandlerContext {
  readonly protocolName = 'rest'
  readonly method: DescMethodUnary
  readonly values: HandlerContext['values']
  #call: Call
  #requestHeader: Headers | undefined
  #responseHeader: Headers | undefined
  #responseTrailer: Headers | undefined

  constructor(method: DescMethodUnary, call: Call) {
    this.method = method
    this.values = call.values
    this.#call = call
  }

  get service() {
    return this.method.parent
  }

  get requestMethod() {
    return this.#call.raw.method!
  }

  get url() {
    return this.#call.raw.url!
  }

  get signal() {
    return this.#call.signal
  }

  get requestHeader() {
    this.#requestHeader ??= headersOf(this.#call.raw)
    return this.#requestHeader
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
    return undefined
  }

  /** The headers that the implementation has set. */
  responseHeaders(): Record<string, string> | undefined {
    return this.#responseHeader && Object.fromEntries(this.#responseHeader)
  }
}

/** The call as interceptors see it. */
class RestRequest {
  readonly stream = false
  readonly message: Message
  readonly context: RestContext

  constructor(context: RestContext, message: Message) {
    this.context = context
    this.message = message
  }

  get method() {
    return this.context.method
  }

  get service() {
    return this.context.service
  }

  get requestMethod() {
    return this.context.requestMethod
  }

  get url() {
    return this.context.url
  }

  get contextValues() {
    return this.context.values
  }

  get signal() {
    return this.context.signal
  }

  get header() {
    return this.context.requestHeader
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

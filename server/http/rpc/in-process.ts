import { create, type DescMethod, type DescMethodUnary, type Message } from '@bufbuild/protobuf'
import type { HandlerContext, Interceptor, MethodImplSpec, ServiceImplSpec, UnaryRequest } from '@connectrpc/connect'
import type { Call, RawRequest } from '../call.ts'

type AnyFn = Parameters<Interceptor>[0]

export interface InProcess {
  method: DescMethodUnary
  /** Resolves with the response's message. Its headers and trailers are in the context. */
  invoke(message: Message, context: CallContext): Promise<Message>
}

/** Calls an implementation through its interceptors, as the protocol library does, without a transport. */
export function inProcess(spec: MethodImplSpec, interceptors: Interceptor[]): InProcess {
  if (spec.kind !== 'unary') throw new Error(`${spec.method.name} is a stream, which is not served in process`)
  const { method, impl } = spec
  const implementation = async (request: InProcessRequest) => ({
    stream: false,
    method,
    message: await impl(request.message, request.context),
  })
  const chain = interceptors.reduceRight((next, interceptor) => interceptor(next), implementation as unknown as AnyFn)
  const invoke = async (message: Message, context: CallContext) => {
    const response = await chain(new InProcessRequest(context, message) as UnaryRequest)
    const output = response.message as Message
    return output.$typeName ? output : create(method.output, output)
  }
  return { method, invoke }
}

/** The implementation of a method. */
export function implementationOf(services: ServiceImplSpec[], method: DescMethod): MethodImplSpec {
  return services.find(({ service }) => service === method.parent)!.methods[method.localName]!
}

/**
 * The context that Connect's `createHandlerContext` creates, with headers and signal created at their first use. They
 * would be a sixth of the gateway's own work, and most calls use none of them.
 */
export class CallContext implements HandlerContext {
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

  get protocolName() {
    return this.#call.protocol
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

/** The call as interceptors see it. */
class InProcessRequest {
  readonly stream = false
  readonly message: Message
  readonly context: CallContext

  constructor(context: CallContext, message: Message) {
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

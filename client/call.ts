import { type ErrorFields, VerdictError } from './error.ts'
import { type Calls, type ErrorBody, ROUTES } from './gen/contract.ts'
import { type Pause, pauseBefore, pauseFor } from './retry.ts'

export interface CallOptions {
  /** Ends the call. It then fails with the signal's reason. */
  signal?: AbortSignal
  /** How long one attempt may take, in milliseconds. */
  timeoutMs?: number
}

export interface KeyedOptions extends CallOptions {
  /**
   * Your own key for this call, 1 to 256 printable ASCII characters. A call with a key that was used within 24 hours
   * returns the first outcome and sends nothing. By default each call makes a random one.
   */
  idempotencyKey?: string
}

export interface SendOptions extends KeyedOptions {
  /** Makes every check and sends nothing. */
  sandbox?: boolean
}

export interface Connection {
  url: string
  apiKey: string
  timeoutMs: number
  maxRetries: number
  pause?: Pause
}

/** What a call takes: the values in its path, its query and its body, whichever it has. */
type Input<Name extends keyof Calls> = Omit<Calls[Name], 'response'>
export type Call = <Name extends keyof Calls>(
  name: Name,
  input: Input<Name>,
  options?: SendOptions & { maxRetries?: number },
) => Promise<Calls[Name]['response']>

/** What the headers of a response say about its idempotency key. */
export interface Replay {
  /** The key was used before. This is the first response, and this call sent nothing. */
  replayed?: true
  /** The body of this call differs from the first one. What the first one asked for counts. */
  mismatch?: true
}

interface Request {
  method: string
  url: string
  headers: Headers
  body: string | undefined
}

/**
 * Calls the service, and retries what may be retried. All attempts of a call carry one `Idempotency-Key`, so that they
 * send one email at most.
 */
export function createCall({ url, apiKey, timeoutMs, maxRetries, pause = pauseFor }: Connection): Call {
  return async (name, input, options = {}) => {
    const { takesKey } = ROUTES[name]
    const idempotencyKey = takesKey ? checked(options.idempotencyKey ?? crypto.randomUUID()) : undefined
    const request = requestOf(url, apiKey, name, input, { ...options, idempotencyKey })
    const isRepeatable = takesKey || request.method === 'GET'
    for (let retries = 0; ; retries++) {
      options.signal?.throwIfAborted()
      const result = await attempt(request, options.timeoutMs ?? timeoutMs, options.signal, idempotencyKey)
      if (!(result instanceof VerdictError)) return result
      const pauseMs =
        retries < (options.maxRetries ?? maxRetries) ? pauseBefore(result, retries, isRepeatable) : undefined
      if (pauseMs === undefined) throw result
      await pause(pauseMs, options.signal)
    }
  }
}

/** `Headers` would drop spaces at the ends, and its own error shows the value. */
function checked(key: string): string {
  if (/^[!-~]([ -~]{0,254}[!-~])?$/.test(key)) return key
  throw new TypeError('idempotencyKey: must have 1 to 256 printable ASCII characters, and no space at its ends')
}

function textOf(field: string, value: unknown): string {
  if (!(value instanceof Date)) return String(value)
  if (Number.isNaN(value.getTime())) throw new TypeError(`${field}: is not a valid time`)
  return value.toISOString()
}

/** Each pair of a map is one parameter: `metadata.order`. */
const pairsOf = ([field, value]: [string, unknown]): [string, unknown][] =>
  typeof value === 'object' && value !== null && !(value instanceof Date)
    ? Object.entries(value).map(([key, one]) => [`${field}.${key}`, one])
    : [[field, value]]

function requestOf(base: string, apiKey: string, name: keyof Calls, input: object, options: SendOptions): Request {
  const { method, path } = ROUTES[name]
  const {
    path: values = {},
    query = {},
    body,
  } = input as { path?: Record<string, string>; query?: Record<string, unknown>; body?: object }
  const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(values[field]!))
  const given = Object.entries(query)
    .flatMap(pairsOf)
    .filter(([, value]) => value !== undefined && value !== null)
  const search = new URLSearchParams(given.map(([field, value]) => [field, textOf(field, value)])).toString()
  return {
    method,
    url: `${base}${filled}${search && '?'}${search}`,
    headers: new Headers({
      accept: 'application/json',
      authorization: `Bearer ${apiKey}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey }),
      ...(options.sandbox === undefined ? {} : { 'x-service-sandbox': String(options.sandbox) }),
    }),
    body: body && JSON.stringify(body),
  }
}

/** Returns the body of a 200, or why there is none. Throws only the reason of the caller's signal. */
async function attempt(request: Request, timeoutMs: number, signal: AbortSignal | undefined, idempotencyKey?: string) {
  const { url, ...init } = request
  const ended = new AbortController()
  const abort = () => ended.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    ended.abort()
  }, timeoutMs)
  try {
    // A redirect would turn a POST into a GET, or send the key to another host.
    const response = await fetch(url, { ...init, redirect: 'manual', signal: ended.signal })
    const text = await response.text()
    const body = parsed(text)
    if (response.ok && body !== undefined)
      return idempotencyKey === undefined ? body : { ...body, ...replayOf(response) }
    return new VerdictError(...failure(response, body, idempotencyKey))
  } catch (cause) {
    signal?.throwIfAborted()
    if (isLate)
      return new VerdictError(`no response within ${timeoutMs} ms`, { code: 'timed_out', idempotencyKey, cause })
    return new VerdictError(`no response from ${new URL(url).origin}${reasonOf(cause)}`, {
      code: 'connection_failed',
      idempotencyKey,
      cause,
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function replayOf({ headers }: Response): Replay {
  return {
    ...(headers.get('idempotent-replayed') === 'true' ? { replayed: true } : {}),
    ...(headers.has('idempotency-mismatch') ? { mismatch: true } : {}),
  }
}

/** Node's `fetch failed` has the fault of the connection as its cause, whose message is empty for several addresses. */
function reasonOf(fault: unknown): string {
  const { cause = fault } = fault as { cause?: unknown }
  const { message, code } = cause as { message?: string; code?: string }
  const reason = message || code
  return reason ? `: ${reason}` : ''
}

// biome-ignore lint/suspicious/noExplicitAny: the response of the call, whose type the contract says.
function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function failure(response: Response, body: unknown, idempotencyKey?: string): [message: string, fields: ErrorFields] {
  const { status, headers } = response
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const shared = { status, idempotencyKey, retryAfter: Number.isFinite(seconds) ? seconds : undefined }
  if (!isErrorBody(body)) {
    const requestId = headers.get('x-request-id') ?? undefined
    return [`unexpected response with status ${status}`, { ...shared, code: 'unexpected_response', requestId }]
  }
  const { error: code, message, request_id: requestId, details, retry_after } = body
  return [message, { ...shared, code, requestId, details, retryAfter: retry_after ?? shared.retryAfter }]
}

function isErrorBody(body: unknown): body is ErrorBody {
  const { error, message } = (body ?? {}) as Partial<ErrorBody>
  return typeof error === 'string' && typeof message === 'string'
}

import { setTimeout } from 'node:timers/promises'
import { Failure } from './command.ts'
import { developmentKey, developmentUrl } from './surroundings.ts'

export const urlOption = {
  type: 'string',
  value: 'url',
  help: 'where the service is; by default VERDICT_URL, or the instance that npm start runs here',
} as const

/** Longer than any send takes. */
const TIMEOUT_MS = 90_000

interface Call {
  url: string | undefined
  path: string
  /** GET without a body and POST with one, when left out. */
  method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  body?: object
  headers?: Record<string, string>
}

export interface Reply {
  status: number
  body: Record<string, unknown>
}

/** One call of the REST interface with the key of VERDICT_API_KEY. An error of the service ends the command with its words. */
export async function callApi(call: Call): Promise<Reply['body']> {
  return answerOf(await askWithKey(call))
}

/** The same, but told to wait by the rate limit it waits, and calls again. */
export async function callPatiently(call: Call): Promise<Reply['body']> {
  for (;;) {
    const reply = await askWithKey(call)
    const { retry_after: seconds } = reply.body
    if (reply.status !== 429 || typeof seconds !== 'number') return answerOf(reply)
    console.error(`The rate limit is reached: going on in ${seconds} s.`)
    await setTimeout(seconds * 1_000)
  }
}

async function askWithKey(call: Call): Promise<Reply> {
  // The key of a development instance goes nowhere but to that instance.
  const isHere = !call.url && !process.env.VERDICT_URL
  const key = process.env.VERDICT_API_KEY || (isHere && developmentKey())
  if (!key) throw new Failure('configuration', 'VERDICT_API_KEY must be set. Make a key: verdict keys create <name>')
  return ask({ ...call, headers: { ...call.headers, authorization: `Bearer ${key}` } })
}

function answerOf({ status, body }: Reply): Reply['body'] {
  if (status === 200) return body
  const words = `${body.error ?? status}: ${body.message ?? 'the service gave no reason'}`
  const request = body.request_id ? ` (request ${body.request_id})` : ''
  throw new Failure(status === 404 ? 'not_found' : status >= 500 ? 'unavailable' : 'failed', words + request, body)
}

/** Whatever the service answers, as long as it is JSON. */
export async function ask({ url, path, method, body, headers }: Call): Promise<Reply> {
  const base = url ?? (process.env.VERDICT_URL || developmentUrl())
  if (!/^https?:\/\//.test(base) || !URL.canParse(base))
    throw new Failure('usage', `${base} is no http:// or https:// URL.`)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(base.replace(/\/$/, '') + path, {
      method: method ?? (body ? 'POST' : 'GET'),
      body: body && JSON.stringify(body),
      headers: { ...headers, 'content-type': 'application/json' },
      redirect: 'error',
      signal,
    })
    return { status: response.status, body: (await response.json()) as Reply['body'] }
  } catch (error) {
    if (error instanceof SyntaxError) throw new Failure('failed', `What answers at ${base} is not Verdict.`)
    const { cause, message } = error as Error
    const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException
    const wayOut =
      url || process.env.VERDICT_URL ? '' : '\nIs npm start running here? VERDICT_URL names a service elsewhere.'
    const said = wrongProtocol(base, code ?? '') ?? (why || code || message)
    throw new Failure('unavailable', `${base} cannot be reached: ${said}${wayOut}`)
  }
}

/** TLS spoken to a plain port, or the reverse, in words. */
function wrongProtocol(base: string, code: string): string | undefined {
  const { protocol, host } = new URL(base)
  if (protocol === 'https:' && /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code)) {
    return `the port speaks plain HTTP, not HTTPS. Use http://${host}`
  }
  if (protocol === 'http:' && /^(UND_ERR_SOCKET|ECONNRESET|HPE_)/.test(code)) {
    return `the connection was closed without an HTTP response. If the port speaks TLS, use https://${host}`
  }
  return undefined
}

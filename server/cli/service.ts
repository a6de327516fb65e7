import { Failure } from './command.ts'
import { developmentKey } from './surroundings.ts'

export const urlOption = {
  type: 'string',
  value: 'url',
  help: 'where the service is; VERDICT_URL when left out, or http://127.0.0.1:8080',
} as const

/** Longer than any send takes. */
const TIMEOUT_MS = 90_000

interface Call {
  url: string | undefined
  path: string
  /** Sent as JSON by POST; without one it is a GET. */
  body?: object
  headers?: Record<string, string>
}

export interface Reply {
  status: number
  body: Record<string, unknown>
}

/** One call of the REST interface with the key of VERDICT_API_KEY. An error of the service ends the command with its words. */
export async function callApi(call: Call): Promise<Reply['body']> {
  // The key of a development instance goes nowhere but to that instance.
  const isHere = !call.url && !process.env.VERDICT_URL
  const key = process.env.VERDICT_API_KEY || (isHere && developmentKey())
  if (!key) throw new Failure('configuration', 'VERDICT_API_KEY must be set. Make a key: verdict keys create <name>')
  const { status, body } = await ask({ ...call, headers: { ...call.headers, authorization: `Bearer ${key}` } })
  if (status === 200) return body
  const words = `${body.error ?? status}: ${body.message ?? 'the service gave no reason'}`
  const request = body.request_id ? ` (request ${body.request_id})` : ''
  throw new Failure(status === 404 ? 'not_found' : status >= 500 ? 'unavailable' : 'failed', words + request)
}

/** Whatever the service answers, as long as it is JSON. */
export async function ask({ url, path, body, headers }: Call): Promise<Reply> {
  const base = url ?? (process.env.VERDICT_URL || 'http://127.0.0.1:8080')
  if (!/^https?:\/\//.test(base) || !URL.canParse(base))
    throw new Failure('usage', `${base} is no http:// or https:// URL.`)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const post = { method: 'POST', body: JSON.stringify(body) }
  try {
    const response = await fetch(base.replace(/\/$/, '') + path, {
      ...(body ? post : {}),
      headers: { ...headers, 'content-type': 'application/json' },
      redirect: 'error',
      signal,
    })
    return { status: response.status, body: (await response.json()) as Reply['body'] }
  } catch (error) {
    if (error instanceof SyntaxError) throw new Failure('failed', `What answers at ${base} is not Verdict.`)
    const { cause, message } = error as Error
    throw new Failure('unavailable', `${base} cannot be reached: ${(cause as Error)?.message || message}`)
  }
}

import { setTimeout } from 'node:timers/promises'
import { Option } from '@commander-js/extra-typings'
import { cleanText } from '../net/clean-text.ts'
import { CliError } from './command.ts'
import { developmentKey, developmentUrl } from './environment.ts'

export const urlOption = () =>
  new Option('--url <url>', 'The URL of the service; by default VERDICT_URL, or the instance that npm start runs here')

/** The query of a path, `?` included; parameters without a value are left out. Pairs are `metadata.order=7`. */
export function query(parameters: Record<string, string | Record<string, string> | undefined>): string {
  const present = Object.entries(parameters).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return []
    return typeof value === 'string'
      ? [[name, value]]
      : Object.entries(value).map(([key, one]) => [`${name}.${key}`, one])
  })
  return present.length > 0 ? `?${new URLSearchParams(present)}` : ''
}

/** Longer than any send takes. */
const TIMEOUT_MS = 90_000

interface ApiRequest {
  url: string | undefined
  path: string
  /** By default GET without a body, and POST with one. */
  method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  body?: object
  headers?: Record<string, string>
}

export interface ApiResponse {
  status: number
  body: Record<string, unknown>
}

/** Whether `--json` is given, which prints every value as it came. */
let isJson = false
/** The service that answered last. */
let answeredBy: string | undefined

export function beginCommand(args: readonly string[]): void {
  isJson = args.includes('--json')
  answeredBy = undefined
}

/** Calls the REST API with the key in VERDICT_API_KEY. Throws an error response as a CliError with its message. */
export async function callApi(call: ApiRequest): Promise<ApiResponse['body']> {
  return shownBody(await callExactly(call))
}

/** As `callApi`, with the values as they came, also those with line breaks. */
export async function callExactly(call: ApiRequest): Promise<ApiResponse['body']> {
  return bodyOf(await askWithKey(call))
}

/** In a text no value begins a new line: strangers write subjects, names and replies. */
export function shownBody(body: ApiResponse['body']): ApiResponse['body'] {
  return isJson ? body : (inOneLine(body) as ApiResponse['body'])
}

const lineOf = (text: string): string => cleanText(text.replaceAll(/\r\n|[\n\r\u2028\u2029]/g, '↵'))

function inOneLine(value: unknown): unknown {
  if (typeof value === 'string') return lineOf(value)
  if (Array.isArray(value)) return value.map(inOneLine)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [lineOf(name), inOneLine(one)]))
}

/** What a command says that misses a field in a response: another program answered, or another release. */
export function notUnderstood(error: unknown): unknown {
  if (!(error instanceof TypeError) || answeredBy === undefined) return error
  const why = 'its response lacks a field that this command needs. Is it Verdict, and of this release?'
  return new CliError('failed', `The server at ${answeredBy} was not understood: ${why}`)
}

/** Like `callApi`, but waits when the rate limit is exceeded, and calls again. */
export async function callPatiently(call: ApiRequest): Promise<ApiResponse['body']> {
  for (;;) {
    const reply = await askWithKey(call)
    const { retry_after: seconds } = reply.body
    if (reply.status !== 429 || typeof seconds !== 'number') return shownBody(bodyOf(reply))
    console.error(`The rate limit is exceeded. Continuing in ${seconds} s.`)
    await setTimeout(seconds * 1_000)
  }
}

/** The key to call the service with. That of a development instance is sent to that instance only. */
function keyFor(url: string | undefined): string | undefined {
  const isDevelopment = !url && !process.env.VERDICT_URL
  return process.env.VERDICT_API_KEY || (isDevelopment ? developmentKey() : undefined)
}

/** Whether there is a key to call the service with. */
export const hasKey = (url: string | undefined): boolean => Boolean(keyFor(url))

async function askWithKey(call: ApiRequest): Promise<ApiResponse> {
  const key = keyFor(call.url)
  if (!key) throw new CliError('configuration', 'VERDICT_API_KEY must be set. Create a key: verdict keys create <name>')
  return ask({ ...call, headers: { ...call.headers, authorization: `Bearer ${key}` } })
}

function bodyOf({ status, body }: ApiResponse): ApiResponse['body'] {
  if (status === 200) return body
  const error = `${body.error ?? status}: ${body.message ?? 'the service gave no reason'}`
  const request = body.request_id ? ` (request ${body.request_id})` : ''
  const exit = status === 404 ? 'not_found' : status >= 500 ? 'unavailable' : 'failed'
  throw new CliError(exit, lineOf(error + request), body)
}

/** The URL of the service without a slash at its end. `url` is that of the option. */
export function baseOf(url: string | undefined): string {
  const base = url ?? (process.env.VERDICT_URL || developmentUrl())
  if (!/^https?:\/\//.test(base) || !URL.canParse(base))
    throw new CliError('usage', `${base} must be a URL that begins with http:// or https://.`)
  return base.replace(/\/$/, '')
}

/** The address of a message in the dashboard, or of the dashboard. The page finds the account of the message. */
export const dashboardLink = (url: string | undefined, messageId?: string) =>
  `${baseOf(url)}/dashboard${messageId === undefined ? '' : `/messages/${messageId}`}`

/** Calls the service and returns any response whose body is JSON. */
export async function ask({ url, path, method, body, headers }: ApiRequest): Promise<ApiResponse> {
  const base = baseOf(url)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(base + path, {
      method: method ?? (body ? 'POST' : 'GET'),
      body: body && JSON.stringify(body),
      headers: { ...headers, 'content-type': 'application/json' },
      redirect: 'error',
      signal,
    })
    const json: unknown = await response.json()
    answeredBy = base
    return { status: response.status, body: isObject(json) ? json : {} }
  } catch (error) {
    if (error instanceof SyntaxError) throw new CliError('failed', `The server at ${base} is not Verdict.`)
    const { cause, message } = error as Error
    const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException
    const wayOut =
      url || process.env.VERDICT_URL ? '' : '\nIs npm start running here? To call another service, set VERDICT_URL.'
    const reason = wrongProtocol(base, code ?? '') ?? (why || code || message)
    throw new CliError('unavailable', `${base} cannot be reached: ${reason}${wayOut}`)
  }
}

/** Explains TLS to a plain port, or the reverse; undefined for any other error. */
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

const isObject = (json: unknown): json is ApiResponse['body'] =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

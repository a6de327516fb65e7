import type { RawRequest } from '../call.ts'

/** The most bytes of a request's headers. */
export const MAX_HEADER_BYTES = 16 * 1024
/** What the parsers read, so that larger headers are refused by a response in the protocol of the caller. */
export const MAX_PARSED_HEADER_BYTES = 4 * MAX_HEADER_BYTES
/** What the wire has around a name and its value: `: ` and a line break. */
const AROUND_BYTES = 4

/**
 * Headers with a single meaning. When there are two, a proxy may have read the other one (RFC 9110 5.3, RFC 9112 3.2),
 * and Node joins the values of some: two idempotency keys become a third one.
 */
export const SINGLE_HEADERS = [
  'host',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'expect',
  'origin',
  'idempotency-key',
  'x-service-sandbox',
  'verdict-account',
  'connect-protocol-version',
  'connect-timeout-ms',
  'connect-content-encoding',
  'grpc-timeout',
  'grpc-encoding',
]

/**
 * Why the headers of a request are refused: they are too large, or a single-valued one occurs twice, whether the values
 * differ or not. `rawHeaders` holds names and values in turn.
 */
export function faultOfHeaders({ rawHeaders, url = '' }: RawRequest): string | undefined {
  let mask = 0
  // HTTP/2 has the URL among its headers.
  let bytes = rawHeaders[0]?.startsWith(':') ? 0 : url.length
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    bytes += name.length + (rawHeaders[i + 1] ?? '').length + AROUND_BYTES
    const index = indexOfSingle(name)
    if (index === -1) continue
    if (mask & (1 << index)) return `The ${name} header occurs twice. Send it once.`
    mask |= 1 << index
  }
  return bytes > MAX_HEADER_BYTES ? TOO_LARGE_HEADERS : undefined
}

export const TOO_LARGE_HEADERS = `The headers are larger than ${MAX_HEADER_BYTES / 1024} KiB.`

/** Most names differ in length and need no comparison. */
function indexOfSingle(name: string): number {
  return SINGLE_HEADERS.findIndex((single) => single.length === name.length && single === name.toLowerCase())
}

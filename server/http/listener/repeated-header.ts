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
 * The name of a single-valued header that occurs twice, whether the values differ or not. `rawHeaders` holds names and
 * values in turn.
 */
export function repeatedHeader(rawHeaders: string[]): string | undefined {
  let mask = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const index = indexOfSingle(rawHeaders[i]!)
    if (index === -1) continue
    if (mask & (1 << index)) return rawHeaders[i]!
    mask |= 1 << index
  }
  return undefined
}

/** Most names differ in length and need no comparison. */
function indexOfSingle(name: string): number {
  return SINGLE_HEADERS.findIndex((single) => single.length === name.length && single === name.toLowerCase())
}

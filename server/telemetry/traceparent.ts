// The header `traceparent` of W3C Trace Context (https://www.w3.org/TR/trace-context/): version, trace id, the id of
// the caller's span, and flags, in lower-case hexadecimal digits.

/** A later version may have more after the flags. Ids of zeros alone and version ff are not valid. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[ -~]*)?$/
const MAX_CHARACTERS = 256
/** The flags `sampled` and `random`. The others have no meaning yet and are not passed on. */
const KNOWN_FLAGS = 0b11

/**
 * The value of the header in its form of version 00; undefined when it is absent or not valid, and its request is then
 * handled as if it had none. Anyone may have written it.
 */
export function readTraceparent(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header.length > MAX_CHARACTERS) return undefined
  const [, version, traceId, spanId = '', flags = '', rest] = TRACEPARENT.exec(header) ?? []
  if (traceId === undefined || (version === '00' && rest !== undefined)) return undefined
  return traceparentOf({ traceId, spanId, traceFlags: Number.parseInt(flags, 16) })
}

interface SpanIds {
  traceId: string
  spanId: string
  traceFlags: number
}

export function traceparentOf({ traceId, spanId, traceFlags }: SpanIds): string {
  return `00-${traceId}-${spanId}-0${traceFlags & KNOWN_FLAGS}`
}

/** The parts of a value that `readTraceparent` or `traceparentOf` returned. */
export function spanIdsOf(traceparent: string): SpanIds {
  return {
    traceId: traceIdOf(traceparent),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number(traceparent.slice(-1)),
  }
}

export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35)

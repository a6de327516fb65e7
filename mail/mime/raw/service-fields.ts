// Fields of a header by which a program speaks to the service. They are taken out of every message, so that no reader
// sees them.

export const IDEMPOTENCY_KEY = 'idempotency-key'
const PREFIX = 'x-service-'
export const SANDBOX = `${PREFIX}sandbox`
export const TAG = `${PREFIX}tag`
export const TENANT = `${PREFIX}tenant`
/** The key of the pair follows. */
export const METADATA = `${PREFIX}metadata-`

const WHOLE = [SANDBOX, TAG, TENANT]

/** Whether a field of this name, in lower case, is for the service. */
export const isServiceField = (name: string): boolean =>
  name === IDEMPOTENCY_KEY || WHOLE.includes(name) || name.startsWith(METADATA)

/**
 * The name of ours that a name, in lower case, misses by one letter that was inserted, dropped or replaced after
 * `X-Service-`; undefined for any other name, and for one of ours.
 */
export function nearServiceField(name: string): string | undefined {
  if (!name.startsWith(PREFIX) || isServiceField(name)) return undefined
  const startsNearly = [-1, 0, 1].some((more) => isOneLetterOff(name.slice(0, METADATA.length + more), METADATA))
  return WHOLE.find((one) => isOneLetterOff(name, one)) ?? (startsNearly ? METADATA : undefined)
}

/** Whether one letter inserted, dropped or replaced makes one text the other. */
function isOneLetterOff(text: string, other: string): boolean {
  const [short, long] = text.length < other.length ? [text, other] : [other, text]
  const differsAt = [...long].findIndex((letter, i) => letter !== short[i])
  if (differsAt < 0) return false
  const rest = long.slice(differsAt + 1)
  return rest === short.slice(differsAt) || (short.length === long.length && rest === short.slice(differsAt + 1))
}

/** A name in lower case as people write it. The key of a pair stays in lower case. */
export function shownServiceField(name: string): string {
  const pair = name.startsWith(METADATA) ? name.slice(METADATA.length) : ''
  const own = name.slice(0, name.length - pair.length)
  return own.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase()) + pair
}

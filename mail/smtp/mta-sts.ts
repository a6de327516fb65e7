/** The MTA-STS policy of a domain for its mail exchangers (RFC 8461 3.2). */
export interface Policy {
  mode: 'enforce' | 'testing' | 'none'
  /** Names in lower case; `*.` in front matches any name with one more label. */
  mx: string[]
  /** How long the policy is valid after the fetch, at most a year. */
  maxAgeS: number
}

const MODES: readonly string[] = ['enforce', 'testing', 'none'] satisfies Policy['mode'][]
const MAX_AGE_S = 31_557_600
/** Keeps a domain from filling the memory; the longest policy of the big providers has a dozen patterns. */
const MAX_PATTERNS = 100

const WSP = /^[ \t]+|[ \t]+$/g
const FIELD = /^[a-zA-Z0-9][\w.-]{0,31}=[!-:<>-~]+$/
const ID = /^id=([a-zA-Z0-9]{1,32})$/
const MAX_AGE = /^\d{1,10}$/
const PATTERN = /^(?=.{1,255}$)(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The id of the policy that the TXT records of `_mta-sts.<domain>` announce; each record is its strings, joined.
 * Returns undefined unless exactly one record begins with `v=STSv1;` and it has no fault (RFC 8461 3.1).
 */
export function policyIdOf(records: readonly string[]): string | undefined {
  const [record, ...more] = records.filter((text) => /^v=STSv1[ \t]*;/.test(text))
  if (record === undefined || more.length > 0) return undefined
  const fields = record.split(';').map((field) => field.replace(WSP, ''))
  if (fields.at(-1) === '') fields.pop()
  const options = fields.slice(1)
  if (!options.every((field) => FIELD.test(field))) return undefined
  const id = options.find((field) => field.startsWith('id='))
  return id && ID.exec(id)?.[1]
}

/**
 * The policy in the text of `mta-sts.txt`, or undefined when the text is not a policy (RFC 8461 3.2). The first field
 * of each name counts, except that all `mx` fields do. Unknown fields are skipped, and so is an `mx` without a name:
 * the rest of the policy still protects.
 */
export function parsePolicy(text: string): Policy | undefined {
  const fields = new Map<string, string>()
  const mx = new Set<string>()
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon))
    const value = line.slice(colon + 1).replace(WSP, '')
    if (name !== 'mx') fields.set(name, fields.get(name) ?? value)
    else if (PATTERN.test(value.toLowerCase())) mx.add(value.toLowerCase())
  }
  const mode = fields.get('mode') ?? ''
  const maxAge = fields.get('max_age') ?? ''
  const isPolicy = fields.get('version') === 'STSv1' && MODES.includes(mode) && MAX_AGE.test(maxAge)
  const isSized = mx.size <= MAX_PATTERNS && (mx.size > 0 || mode === 'none')
  if (!isPolicy || !isSized) return undefined
  return { mode: mode as Policy['mode'], mx: [...mx], maxAgeS: Math.min(Number(maxAge), MAX_AGE_S) }
}

/** Whether the policy names an exchanger; `name` is in lower case, as in the MX record (RFC 8461 4.1). */
export function permits({ mx }: Policy, name: string): boolean {
  const parent = name.slice(name.indexOf('.') + 1)
  return mx.includes(name) || (parent !== name && mx.includes(`*.${parent}`))
}

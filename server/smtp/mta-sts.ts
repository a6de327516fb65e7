/** What a domain says of its mail exchangers (RFC 8461 3.2). */
export interface Policy {
  mode: 'enforce' | 'testing' | 'none'
  /** Names in lower case, `*.` in front for any name with one label more. */
  mx: string[]
  /** How long it holds after it was fetched, at most a year. */
  maxAgeS: number
}

const MODES: readonly string[] = ['enforce', 'testing', 'none'] satisfies Policy['mode'][]
const MAX_AGE_S = 31_557_600
/** So that no domain can fill the memory; the longest of the big providers has a dozen. */
const MAX_PATTERNS = 100

const WSP = /^[ \t]+|[ \t]+$/g
const FIELD = /^[a-zA-Z0-9][\w.-]{0,31}=[!-:<>-~]+$/
const ID = /^id=([a-zA-Z0-9]{1,32})$/
const MAX_AGE = /^\d{1,10}$/
const PATTERN = /^(?=.{1,255}$)(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The id of the policy that the TXT records of `_mta-sts.<domain>` announce, each record with its strings joined. undefined when
 * there is not exactly one that begins with `v=STSv1;`, or it has a fault (RFC 8461 3.1).
 */
export function policyIdOf(records: readonly string[]): string | undefined {
  const [record, ...more] = records.filter((text) => /^v=STSv1[ \t]*;/.test(text))
  if (record === undefined || more.length > 0) return undefined
  const fields = record.split(';').map((field) => field.replace(WSP, ''))
  if (fields.at(-1) === '') fields.pop()
  const named = fields.slice(1)
  if (!named.every((field) => FIELD.test(field))) return undefined
  const id = named.find((field) => field.startsWith('id='))
  return id && ID.exec(id)?.[1]
}

/**
 * The policy in the text of `mta-sts.txt`, undefined when it is none (RFC 8461 3.2). Of each field but `mx` the first counts; what is
 * unknown is passed over, and so is an `mx` that is no name: what is left of the policy still protects.
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

/** Whether the policy names an exchanger, by its name in lower case as the MX record has it (RFC 8461 4.1). */
export function permits({ mx }: Policy, name: string): boolean {
  const parent = name.slice(name.indexOf('.') + 1)
  return mx.includes(name) || (parent !== name && mx.includes(`*.${parent}`))
}

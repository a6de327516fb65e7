import { type BreakerLimits, DEFAULT_LIMITS, type Limits, type Tier } from './limits.ts'
import { type Read, textFile } from './values.ts'

// TIERS_FILE: {"tiers": {"free": {"requests_per_minute": 60}}, "warmup": [500, 1000], "breaker": {"min_emails": 100}}

export type FileLimits = Omit<Limits, 'defaultTier'>

type Tell = (where: string, what: string) => void
type Fields = Record<string, unknown>

const TIER_NAME = /^[a-z][a-z0-9_-]{0,31}$/
const MOST_REQUESTS = 1_000_000_000
const MOST_EMAILS = 1_000_000_000
const MOST_DAYS = 60

/** Each field of `breaker` in the file: its name here, its bounds, and whether it is a whole number. */
const BREAKER: Record<string, { key: keyof BreakerLimits; least: number; most: number; whole: boolean }> = {
  min_emails: { key: 'minEmails', least: 1, most: 1_000_000, whole: true },
  bounce_warn: { key: 'bounceWarn', least: 0, most: 1, whole: false },
  bounce_open: { key: 'bounceOpen', least: 0, most: 1, whole: false },
  complaint_warn: { key: 'complaintWarn', least: 0, most: 1, whole: false },
  complaint_open: { key: 'complaintOpen', least: 0, most: 1, whole: false },
  open_minutes: { key: 'openMinutes', least: 1, most: 1_440, whole: true },
}

/** The limits that a JSON file names, over the defaults. Throws with every fault of the file, each with its place. */
export const limitsFile: Read<FileLimits> = (path) => {
  const faults: string[] = []
  const tell: Tell = (where, what) => void faults.push(`${where} ${what}`)
  const file = fields(readJson(path), 'the whole', ['tiers', 'warmup', 'breaker'], tell)
  const limits: FileLimits = {
    tiers: Object.freeze({ ...DEFAULT_LIMITS.tiers, ...readTiers(file.tiers, tell) }),
    warmUp: Object.freeze(readWarmUp(file.warmup, tell)),
    breaker: Object.freeze({ ...DEFAULT_LIMITS.breaker, ...readBreaker(file.breaker, tell) }),
  }
  checkOrder(limits.breaker, tell)
  if (faults.length > 0) throw new Error(`must name a file of limits without fault: ${faults.join('; ')}`)
  return Object.freeze(limits)
}

function readJson(path: string): unknown {
  const text = textFile(path)
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('must name a file of JSON')
  }
}

function readTiers(value: unknown, tell: Tell): Record<string, Tier> {
  const tiers: [string, Tier][] = []
  for (const [name, tier] of Object.entries(fields(value, 'tiers', undefined, tell))) {
    const where = `tiers.${name}`
    if (!TIER_NAME.test(name)) tell(where, 'must be named by 1 to 32 of a-z, 0-9, _ and -, a letter first')
    const { requests_per_minute: perMinute } = fields(tier, where, ['requests_per_minute'], tell)
    if (!isWhole(perMinute, 1, MOST_REQUESTS)) {
      tell(`${where}.requests_per_minute`, `must be a whole number from 1 to ${MOST_REQUESTS}`)
    } else tiers.push([name, Object.freeze({ requestsPerMinute: perMinute })])
  }
  return Object.fromEntries(tiers)
}

function readWarmUp(value: unknown, tell: Tell): readonly number[] {
  if (value === undefined) return DEFAULT_LIMITS.warmUp
  if (Array.isArray(value) && value.length <= MOST_DAYS && value.every((emails) => isWhole(emails, 1, MOST_EMAILS))) {
    return value as number[]
  }
  tell('warmup', `must be a list of at most ${MOST_DAYS} whole numbers from 1 to ${MOST_EMAILS}`)
  return []
}

function readBreaker(value: unknown, tell: Tell): Partial<BreakerLimits> {
  const breaker: [keyof BreakerLimits, number][] = []
  for (const [name, given] of Object.entries(fields(value, 'breaker', Object.keys(BREAKER), tell))) {
    const { key, least, most, whole } = BREAKER[name]!
    if (typeof given === 'number' && given >= least && given <= most && (!whole || Number.isInteger(given))) {
      breaker.push([key, given])
    } else tell(`breaker.${name}`, `must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}`)
  }
  return Object.fromEntries(breaker)
}

function checkOrder({ bounceWarn, bounceOpen, complaintWarn, complaintOpen }: BreakerLimits, tell: Tell): void {
  if (bounceWarn > bounceOpen) tell('breaker.bounce_warn', 'must not be above bounce_open')
  if (complaintWarn > complaintOpen) tell('breaker.complaint_warn', 'must not be above complaint_open')
}

/** The known fields of an object; `{}` for what is absent or none. Without `known` every name is one. */
function fields(value: unknown, where: string, known: string[] | undefined, tell: Tell): Fields {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    tell(where, 'must be an object')
    return {}
  }
  const strangers = known ? Object.keys(value).filter((name) => !known.includes(name)) : []
  for (const name of strangers) tell(where, `has no field ${JSON.stringify(name)}; there are ${known!.join(', ')}`)
  return Object.fromEntries(Object.entries(value).filter(([name]) => !strangers.includes(name)))
}

const isWhole = (value: unknown, least: number, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most

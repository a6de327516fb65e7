import { type BreakerLimits, DEFAULT_LIMITS, type OperatorLimits, type Tier } from './limits.ts'
import { type ReadVariable, textFile } from './values.ts'

// TIERS_FILE: {"tiers": {"free": {"requests_per_minute": 60}}, "warmup": [500, 1000], "breaker": {"min_emails": 100}}

export type FileLimits = Omit<OperatorLimits, 'defaultTier'>

/** Takes a fault: its place in the file, and what is wrong there. */
type Report = (where: string, what: string) => void
type Fields = Record<string, unknown>

const TIER_NAME = /^[a-z][a-z0-9_-]{0,31}$/
const MOST_REQUESTS = 1_000_000_000
const MOST_EMAILS = 1_000_000_000
const MOST_DAYS = 60

/** Each field of `breaker` in the file: its name in `BreakerLimits`, its bounds, and whether it is a whole number. */
const BREAKER: Record<string, { key: keyof BreakerLimits; least: number; most: number; whole: boolean }> = {
  min_emails: { key: 'minEmails', least: 1, most: 1_000_000, whole: true },
  bounce_warn: { key: 'bounceWarn', least: 0, most: 1, whole: false },
  bounce_open: { key: 'bounceOpen', least: 0, most: 1, whole: false },
  complaint_warn: { key: 'complaintWarn', least: 0, most: 1, whole: false },
  complaint_open: { key: 'complaintOpen', least: 0, most: 1, whole: false },
  open_minutes: { key: 'openMinutes', least: 1, most: 1_440, whole: true },
}

/**
 * Reads a JSON file of limits, which replace defaults. Throws an error that names every fault of the file and its
 * place.
 */
export const limitsFile: ReadVariable<FileLimits> = (path) => {
  const faults: string[] = []
  const report: Report = (where, what) => void faults.push(`${where} ${what}`)
  const file = fields(readJson(path), 'the whole', ['tiers', 'warmup', 'breaker'], report)
  const limits: FileLimits = {
    tiers: Object.freeze({ ...DEFAULT_LIMITS.tiers, ...readTiers(file.tiers, report) }),
    warmUp: Object.freeze(readWarmUp(file.warmup, report)),
    breaker: Object.freeze({ ...DEFAULT_LIMITS.breaker, ...readBreaker(file.breaker, report) }),
  }
  checkOrder(limits.breaker, report)
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

function readTiers(value: unknown, report: Report): Record<string, Tier> {
  const tiers: [string, Tier][] = []
  for (const [name, tier] of Object.entries(fields(value, 'tiers', undefined, report))) {
    const where = `tiers.${name}`
    if (!TIER_NAME.test(name)) report(where, 'must be named by 1 to 32 of a-z, 0-9, _ and -, a letter first')
    const { requests_per_minute: perMinute } = fields(tier, where, ['requests_per_minute'], report)
    if (!isWhole(perMinute, 1, MOST_REQUESTS)) {
      report(`${where}.requests_per_minute`, `must be a whole number from 1 to ${MOST_REQUESTS}`)
    } else tiers.push([name, Object.freeze({ requestsPerMinute: perMinute })])
  }
  return Object.fromEntries(tiers)
}

function readWarmUp(value: unknown, report: Report): readonly number[] {
  if (value === undefined) return DEFAULT_LIMITS.warmUp
  if (Array.isArray(value) && value.length <= MOST_DAYS && value.every((emails) => isWhole(emails, 1, MOST_EMAILS))) {
    return value as number[]
  }
  report('warmup', `must be a list of at most ${MOST_DAYS} whole numbers from 1 to ${MOST_EMAILS}`)
  return []
}

function readBreaker(value: unknown, report: Report): Partial<BreakerLimits> {
  const breaker: [keyof BreakerLimits, number][] = []
  for (const [name, given] of Object.entries(fields(value, 'breaker', Object.keys(BREAKER), report))) {
    const { key, least, most, whole } = BREAKER[name]!
    if (typeof given === 'number' && given >= least && given <= most && (!whole || Number.isInteger(given))) {
      breaker.push([key, given])
    } else report(`breaker.${name}`, `must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}`)
  }
  return Object.fromEntries(breaker)
}

function checkOrder({ bounceWarn, bounceOpen, complaintWarn, complaintOpen }: BreakerLimits, report: Report): void {
  if (bounceWarn > bounceOpen) report('breaker.bounce_warn', 'must not be above bounce_open')
  if (complaintWarn > complaintOpen) report('breaker.complaint_warn', 'must not be above complaint_open')
}

/** The fields of an object; `{}` when it is absent or not an object. Without `known` every name is valid. */
function fields(value: unknown, where: string, known: string[] | undefined, report: Report): Fields {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(where, 'must be an object')
    return {}
  }
  const unknown = known ? Object.keys(value).filter((name) => !known.includes(name)) : []
  for (const name of unknown) report(where, `has no field ${JSON.stringify(name)}; there are ${known!.join(', ')}`)
  return Object.fromEntries(Object.entries(value).filter(([name]) => !unknown.includes(name)))
}

const isWhole = (value: unknown, least: number, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most

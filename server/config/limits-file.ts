import { fields, isWhole, type ReportFault } from './json-fields.ts'
import { type AddressPool, type BreakerLimits, DEFAULT_LIMITS, type OperatorLimits, type Tier } from './limits.ts'
import { POOL_OR_TIER, POOL_OR_TIER_RULE, readPools, readShaping } from './sending-limits.ts'
import { type ReadVariable, textFile } from './values.ts'

// TIERS_FILE: {"tiers": {"free": {"requests_per_minute": 60}}, "warmup": [500, 1000], "breaker": {"min_emails": 100}}
// and the pools and the shaping of sending-limits.ts.

export type FileLimits = Omit<OperatorLimits, 'defaultTier'>

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
  const report: ReportFault = (where, what) => void faults.push(`${where} ${what}`)
  const file = fields(readJson(path), 'the whole', ['tiers', 'warmup', 'breaker', 'pools', 'shaping'], report)
  const pools = readPools(file.pools, report)
  const limits: FileLimits = {
    tiers: Object.freeze({ ...DEFAULT_LIMITS.tiers, ...readTiers(file.tiers, pools, report) }),
    warmUp: Object.freeze(readWarmUp(file.warmup, report)),
    breaker: Object.freeze({ ...DEFAULT_LIMITS.breaker, ...readBreaker(file.breaker, report) }),
    pools,
    shaping: readShaping(file.shaping, report),
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

function readTiers(value: unknown, pools: Record<string, AddressPool>, report: ReportFault): Record<string, Tier> {
  const tiers: [string, Tier][] = []
  for (const [name, tier] of Object.entries(fields(value, 'tiers', undefined, report))) {
    const where = `tiers.${name}`
    if (!POOL_OR_TIER.test(name)) report(where, POOL_OR_TIER_RULE)
    const {
      requests_per_minute: perMinute,
      emails_per_month: perMonth,
      pool,
    } = fields(tier, where, ['requests_per_minute', 'emails_per_month', 'pool'], report)
    const isPool = pool === undefined || (typeof pool === 'string' && Object.hasOwn(pools, pool))
    if (!isPool) report(`${where}.pool`, 'must be one of pools')
    const isQuota = perMonth === undefined || isWhole(perMonth, 1, MOST_EMAILS)
    if (!isQuota) report(`${where}.emails_per_month`, `must be a whole number from 1 to ${MOST_EMAILS}`)
    if (!isWhole(perMinute, 1, MOST_REQUESTS)) {
      report(`${where}.requests_per_minute`, `must be a whole number from 1 to ${MOST_REQUESTS}`)
    } else {
      const more = { ...(isQuota && perMonth ? { emailsPerMonth: perMonth } : {}), ...(isPool && pool ? { pool } : {}) }
      tiers.push([name, Object.freeze({ requestsPerMinute: perMinute, ...more })])
    }
  }
  return Object.fromEntries(tiers) as Record<string, Tier>
}

function readWarmUp(value: unknown, report: ReportFault): readonly number[] {
  if (value === undefined) return DEFAULT_LIMITS.warmUp
  if (Array.isArray(value) && value.length <= MOST_DAYS && value.every((emails) => isWhole(emails, 1, MOST_EMAILS))) {
    return value as number[]
  }
  report('warmup', `must be a list of at most ${MOST_DAYS} whole numbers from 1 to ${MOST_EMAILS}`)
  return []
}

function readBreaker(value: unknown, report: ReportFault): Partial<BreakerLimits> {
  const breaker: [keyof BreakerLimits, number][] = []
  for (const [name, given] of Object.entries(fields(value, 'breaker', Object.keys(BREAKER), report))) {
    const { key, least, most, whole } = BREAKER[name]!
    if (typeof given === 'number' && given >= least && given <= most && (!whole || Number.isInteger(given))) {
      breaker.push([key, given])
    } else report(`breaker.${name}`, `must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}`)
  }
  return Object.fromEntries(breaker)
}

function checkOrder(
  { bounceWarn, bounceOpen, complaintWarn, complaintOpen }: BreakerLimits,
  report: ReportFault,
): void {
  if (bounceWarn > bounceOpen) report('breaker.bounce_warn', 'must not be above bounce_open')
  if (complaintWarn > complaintOpen) report('breaker.complaint_warn', 'must not be above complaint_open')
}

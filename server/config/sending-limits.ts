import { isIP } from 'node:net'
import { fields, isWhole, type ReportFault } from './json-fields.ts'
import type { AddressPool, ShapingRow } from './limits.ts'
import { hostName } from './values.ts'

// The parts of TIERS_FILE that say where mail leaves from, and how much of it at a time:
//
//   {"pools": {"main": {"addresses": ["192.0.2.25"], "warm_up": true}},
//    "shaping": [{"site": "google.com", "connections": 20, "messages_per_connection": 50, "per_minute": 6000}]}

export const POOL_OR_TIER = /^[a-z][a-z0-9_-]{0,31}$/
export const POOL_OR_TIER_RULE = 'must be named by 1 to 32 of a-z, 0-9, _ and -, a letter first'

const MOST_ADDRESSES = 1_000
const MOST_ROWS = 1_000

/** Each limit of a row: its name in `ShapingRow`, and the most that it may be. */
const SITE_LIMITS = {
  connections: { key: 'connections', most: 1_000 },
  messages_per_connection: { key: 'messages', most: 100_000 },
  per_minute: { key: 'perMinute', most: 10_000_000 },
} as const

export function readPools(value: unknown, report: ReportFault): Readonly<Record<string, AddressPool>> {
  const pools: [string, AddressPool][] = []
  for (const [name, pool] of Object.entries(fields(value, 'pools', undefined, report))) {
    const where = `pools.${name}`
    if (!POOL_OR_TIER.test(name)) report(where, POOL_OR_TIER_RULE)
    const { addresses, warm_up: warmsUp = false } = fields(pool, where, ['addresses', 'warm_up'], report)
    if (typeof warmsUp !== 'boolean') report(`${where}.warm_up`, 'must be true or false')
    if (areAddresses(addresses)) pools.push([name, Object.freeze({ addresses, warmsUp: warmsUp === true })])
    else report(`${where}.addresses`, `must be a list of 1 to ${MOST_ADDRESSES} IP addresses, none of them twice`)
  }
  return Object.freeze(Object.fromEntries(pools))
}

function areAddresses(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_ADDRESSES) return false
  return new Set(value).size === value.length && value.every((item) => typeof item === 'string' && isIP(item) !== 0)
}

export function readShaping(value: unknown, report: ReportFault): readonly ShapingRow[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > MOST_ROWS) {
    report('shaping', `must be a list of at most ${MOST_ROWS} sites`)
    return []
  }
  const rows = value.map((row, i) => readRow(row, `shaping[${i}]`, report))
  const twice = rows.find(({ site }, i) => site && rows.findIndex((row) => row.site === site) < i)
  if (twice) report('shaping', `names ${twice.site} twice`)
  return Object.freeze(rows)
}

function readRow(value: unknown, where: string, report: ReportFault): ShapingRow {
  const { site, ...limits } = fields(value, where, ['site', ...Object.keys(SITE_LIMITS)], report)
  const name = siteName(site)
  if (!name) report(`${where}.site`, 'must be the end of a mail exchanger name, or a domain, such as google.com')
  if (Object.keys(limits).length === 0) report(where, `must have one of ${Object.keys(SITE_LIMITS).join(', ')}`)
  const known = Object.entries(limits).map(([field, limit]) => {
    const { key, most } = SITE_LIMITS[field as keyof typeof SITE_LIMITS]
    if (!isWhole(limit, 1, most)) report(`${where}.${field}`, `must be a whole number from 1 to ${most}`)
    return [key, limit]
  })
  return Object.freeze({ ...Object.fromEntries(known), site: name })
}

/** A name in lower case and A-labels, or the address of a route; empty for anything else. */
function siteName(site: unknown): string {
  if (typeof site !== 'string') return ''
  if (isIP(site) !== 0) return site
  try {
    return hostName(site)
  } catch {
    return ''
  }
}

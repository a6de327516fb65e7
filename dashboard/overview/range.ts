import { Granularity } from '../../gen/verdict/v1/stats_pb.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The ranges to choose from. Times are in Unix milliseconds. */
export const PRESETS = [
  ['1h', '1 hour', HOUR],
  ['24h', '24 hours', DAY],
  ['7d', '7 days', 7 * DAY],
  ['30d', '30 days', 30 * DAY],
] as const

export const DEFAULT_PRESET = '24h'

/** The parameters of the page's address: a preset, or two times. */
export interface RangeSearch {
  range?: string
  from?: string
  to?: string
}

export interface Range {
  fromMs: number
  toMs: number
  granularity: Granularity
  /** Length of a period. */
  stepMs: number
}

/** Up to this length the periods are hours: more of them would be thinner than a pixel. */
const MAX_HOURS = 7 * 24

/** The range that an address names: its two times when both are valid, otherwise its preset. */
export function rangeOf({ range, from, to }: RangeSearch, nowMs: number): Range {
  const own = [Date.parse(from ?? ''), Date.parse(to ?? '')] as const
  if (own[0] < own[1]) return inPeriods(own[0], own[1])
  const [, , lengthMs] = PRESETS.find(([name]) => name === range) ?? PRESETS.find(([name]) => name === DEFAULT_PRESET)!
  return inPeriods(nowMs - lengthMs, nowMs)
}

/** The times of a range, as a request and the address of a list have them. */
export function timesOf({ fromMs, toMs }: Pick<Range, 'fromMs' | 'toMs'>): { from: string; to: string } {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

/** Widens a range to whole periods: hours of a short range, days of a long one. */
function inPeriods(fromMs: number, toMs: number): Range {
  const isShort = toMs - fromMs <= MAX_HOURS * HOUR
  const stepMs = isShort ? HOUR : DAY
  return {
    fromMs: Math.floor(fromMs / stepMs) * stepMs,
    toMs: Math.ceil(toMs / stepMs) * stepMs,
    granularity: isShort ? Granularity.HOUR : Granularity.DAY,
    stepMs,
  }
}

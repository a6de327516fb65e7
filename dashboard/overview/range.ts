import { Granularity } from '../../gen/verdict/v1/stats_pb.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
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

export interface OverviewSearch extends RangeSearch {
  /** `true` shows emails to the simulator, which are counted apart from all others. */
  simulated?: string
}

/** The filter of the messages that the statistics of the simulator count. */
export const SIMULATED_MESSAGES = { recipient_domain: 'simulator.test' }

export interface Range {
  fromMs: number
  toMs: number
  granularity: Granularity
  /** Length of a period. */
  stepMs: number
}

/** Up to this length the periods are minutes, of which the server keeps nearly two days. */
const MAX_MINUTES = 6 * 60
const MINUTES_KEPT = 47 * HOUR
/** Up to this length the periods are hours: more of them would be thinner than a pixel. */
const MAX_HOURS = 7 * 24

/** The range that an address names: its two times when both are valid, otherwise its preset. */
export function rangeOf({ range, from, to }: RangeSearch, nowMs: number): Range {
  const own = [Date.parse(from ?? ''), Date.parse(to ?? '')] as const
  if (own[0] < own[1]) return inPeriods(own[0], own[1], nowMs)
  const [, , lengthMs] = PRESETS.find(([name]) => name === range) ?? PRESETS.find(([name]) => name === DEFAULT_PRESET)!
  return inPeriods(nowMs - lengthMs, nowMs, nowMs)
}

/** The times of a range, as a request and the address of a list have them. */
export function timesOf({ fromMs, toMs }: Pick<Range, 'fromMs' | 'toMs'>): { from: string; to: string } {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

/** Widens a range to whole periods: minutes of a few hours, hours of a short range, days of a long one. */
function inPeriods(fromMs: number, toMs: number, nowMs: number): Range {
  const lengthMs = toMs - fromMs
  // The period before is compared with it, and has to be kept by the minute, too.
  const hasMinutes = lengthMs <= MAX_MINUTES * MINUTE && fromMs - lengthMs > nowMs - MINUTES_KEPT
  const [granularity, stepMs] = hasMinutes
    ? ([Granularity.MINUTE, MINUTE] as const)
    : lengthMs <= MAX_HOURS * HOUR
      ? ([Granularity.HOUR, HOUR] as const)
      : ([Granularity.DAY, DAY] as const)
  const toWhole = Math.ceil(toMs / stepMs) * stepMs
  // A time within a minute would make one minute too many.
  const fromWhole = hasMinutes ? toWhole - Math.ceil(lengthMs / stepMs) * stepMs : Math.floor(fromMs / stepMs) * stepMs
  return { fromMs: fromWhole, toMs: toWhole, granularity, stepMs }
}

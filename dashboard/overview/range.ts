import { Granularity } from '../../gen/verdict/v1/stats_pb.ts'
import { present } from '../present.ts'
import { presetLength, type RangeSearch } from '../range/presets.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const DEFAULT_PRESET = '24h'

export interface OverviewSearch extends RangeSearch {
  /** `true` shows emails to the simulator, which are counted apart from all others. */
  simulated?: string
}

export interface TimeRange {
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
export function rangeOf({ range, from, to }: RangeSearch, nowMs: number): TimeRange {
  const own = [Date.parse(from ?? ''), Date.parse(to ?? '')] as const
  if (own[0] < own[1]) return inPeriods(own[0], own[1], nowMs)
  const lengthMs = presetLength(range) ?? present(presetLength(DEFAULT_PRESET))
  return inPeriods(nowMs - lengthMs, nowMs, nowMs)
}

/** The times of a range, as a request and the address of a list have them. */
export function timesOf({ fromMs, toMs }: Pick<TimeRange, 'fromMs' | 'toMs'>): { from: string; to: string } {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

/** The filters of the list of messages for those that statistics of a range count. */
export const messagesIn = (range: Pick<TimeRange, 'fromMs' | 'toMs'>, simulated: boolean) => ({
  ...timesOf(range),
  ...(simulated && { recipient_domain: 'simulator.test' }),
})

/** Widens a range to whole periods: minutes of a few hours, hours of a short range, days of a long one. */
function inPeriods(fromMs: number, toMs: number, nowMs: number): TimeRange {
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

import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { Granularity, GranularitySchema } from '../../../gen/verdict/v1/stats_pb.ts'
import { parseTime, timeFault } from '../../async/time-text.ts'
import { enumNames } from '../../db/enum-names.ts'
import { firstKeptHour, MINUTES_KEPT_DAYS } from '../../db/retention.ts'
import { failField } from '../../errors.ts'

/** The last millisecond of the year 9999. */
const MAX_TIME_MS = 253_402_300_799_999

/** Returns a time in Unix milliseconds. */
export function readTime(field: string, time: Timestamp | undefined): number | undefined {
  if (!time) return undefined
  const isWhole = time.nanos >= 0 && time.nanos < 1e9
  return knownTime(field, isWhole ? timestampMs(time) : Number.NaN)
}

/** Returns the time of a text in Unix milliseconds. */
export function readTimeText(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = parseTime(text)
  if (ms === undefined) throw failField(field, timeFault(text))
  return knownTime(field, ms)
}

function knownTime(field: string, ms: number): number {
  if (ms >= 0 && ms <= MAX_TIME_MS) return ms
  throw failField(field, 'must be a time from 1970 to 9999')
}

/** Refuses times in the wrong order. Equal ones are a range that holds nothing. */
export function refuseReversed(fromMs: number | undefined, toMs: number | undefined, prefix = ''): void {
  if (fromMs === undefined || toMs === undefined || fromMs <= toMs) return
  throw failField(`${prefix}from`, `is after ${prefix}to, which is ${new Date(toMs).toISOString()}`)
}

export const granularityNames = enumNames(GranularitySchema)

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The time that is counted when `from` is missing. */
const DEFAULT_DAYS = 7
/** The last day that the times of a response can begin with. */
const LAST_DAY_MS = Date.UTC(9999, 11, 31)
/** The time that is counted by the minute when `from` is missing, and the most of it. */
const DEFAULT_MINUTES = 60
const MAX_MINUTES = 360
/** The hours of a leap year. */
const MAX_PERIODS = 8_784

/** Whole periods, in Unix milliseconds: `from` is included, `to` is not. */
export interface Periods {
  from: number
  to: number
  stepMs: number
}

/** In Unix milliseconds. */
interface AskedTime {
  from: number | undefined
  to: number
  nowMs: number
}

/**
 * Widens a time to whole periods. A client that asks for the 24 hours before this minute gets all hours that they
 * touch, and whole days where statistics no longer tell hours apart. Throws `invalid_payload` for too many periods.
 */
export function wholePeriods(asked: AskedTime, granularity: Granularity): Periods {
  if (granularity === Granularity.MINUTE) return wholeMinutes(asked)
  const { from: fromMs, to: toMs, nowMs } = asked
  const grainMs = granularity === Granularity.DAY ? DAY_MS : HOUR_MS
  const grainAt = (ms: number) => (ms < firstKeptHour(nowMs) ? DAY_MS : grainMs)
  const to = Math.min(Math.ceil(toMs / grainAt(toMs)) * grainAt(toMs), LAST_DAY_MS)
  const start = fromMs ?? to - DEFAULT_DAYS * DAY_MS
  const from = Math.floor(start / grainAt(start)) * grainAt(start)
  refuseReversed(from, to)
  const stepMs = granularity === Granularity.TOTAL && to > from ? to - from : grainMs
  const periods = (to - from) / stepMs
  if (periods <= MAX_PERIODS) return { from, to, stepMs }
  throw failField(
    'granularity',
    `gives ${periods} periods, and the most is ${MAX_PERIODS}. Ask for longer periods or a shorter time`,
  )
}

function wholeMinutes({ from: fromMs, to: toMs, nowMs }: AskedTime): Periods {
  const to = Math.min(Math.ceil(toMs / MINUTE_MS) * MINUTE_MS, LAST_DAY_MS)
  const from = Math.floor((fromMs ?? to - DEFAULT_MINUTES * MINUTE_MS) / MINUTE_MS) * MINUTE_MS
  refuseReversed(from, to)
  const oldest = nowMs - MINUTES_KEPT_DAYS * DAY_MS
  if (from < Math.floor(oldest / MINUTE_MS) * MINUTE_MS) {
    throw failField(
      'from',
      `is too long ago: minutes are kept for ${MINUTES_KEPT_DAYS} days. Ask with \`granularity=hour\``,
    )
  }
  const minutes = (to - from) / MINUTE_MS
  if (minutes <= MAX_MINUTES) return { from, to, stepMs: MINUTE_MS }
  throw failField(
    'granularity',
    `gives ${minutes} minutes, and the most is ${MAX_MINUTES} (6 hours). Ask for \`hour\` or a shorter time`,
  )
}

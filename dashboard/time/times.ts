const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The units of relative times, and up to which distance each is used. */
const UNITS = [
  ['s', SECOND, MINUTE],
  ['min', MINUTE, HOUR],
  ['h', HOUR, DAY],
  ['day', DAY, 30 * DAY],
] as const

/** `3 min ago`, `in 5 h`, and the day for what is more than 30 days away. */
export function relativeTime(at: number, now: number): string {
  const distance = Math.abs(at - now)
  if (distance < 3 * SECOND) return at > now ? 'now' : 'just now'
  const unit = UNITS.find(([, , end]) => distance < end)
  if (!unit) return dateOf(at)
  const [name, size] = unit
  // What has just been set to seven days from now is "in 7 days".
  return at > now
    ? `in ${counted(Math.round(distance / size), name)}`
    : `${counted(Math.floor(distance / size), name)} ago`
}

const counted = (count: number, unit: string) => `${count} ${unit === 'day' && count !== 1 ? 'days' : unit}`

/** `2026-11-22 14:05:09.123 UTC`. */
export function utcTime(at: number): string {
  return `${new Date(at).toISOString().replace('T', ' ').replace('Z', '')} UTC`
}

const DAY_FORM = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
/** The form of a minute, in the reader's zone by default. */
export const minuteFormIn = (timeZone?: string) =>
  new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
    timeZone,
  })
const MINUTE_FORM = minuteFormIn()

/** `22 Nov 2026` in the reader's zone. */
const dateOf = (at: number) => DAY_FORM.format(at)

/** `22 Nov 2026, 15:05 CET` in the reader's zone. An hour is repeated when the clock is put back: the zone differs. */
export const minuteOf = (at: number) => MINUTE_FORM.format(at)

/** A length of time in two units: `7 h 21 min`, `18 s`, `4 ms`. */
export function lengthOf(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`
  if (ms < HOUR) return inTwo(ms, MINUTE, 'min', SECOND, 's')
  if (ms < DAY) return inTwo(ms, HOUR, 'h', MINUTE, 'min')
  return inTwo(ms, DAY, 'day', HOUR, 'h')
}

function inTwo(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small)
  const whole = counted(Math.floor(ms / large), largeName)
  return rest === 0 ? whole : `${whole} ${rest} ${smallName}`
}

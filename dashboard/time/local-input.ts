const MINUTE = 60_000

/** A time in UTC as a `datetime-local` field has it: in the reader's zone, to the minute. Empty without one. */
export function localInput(time: string | undefined): string {
  const at = time === undefined ? Number.NaN : Date.parse(time)
  if (Number.isNaN(at)) return ''
  const offset = new Date(at).getTimezoneOffset() * MINUTE
  return new Date(at - offset).toISOString().slice(0, 16)
}

/** The text of a `datetime-local` field as a time in UTC; undefined while it is no time. */
export function timeOfInput(text: string): string | undefined {
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

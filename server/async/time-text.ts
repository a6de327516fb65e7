/** RFC 3339, or a date alone. */
const TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/i
const WITHOUT_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/i
const SPACE_FOR_PLUS = / \d\d:?\d\d$/

/** The Unix milliseconds of a time, or of the first moment of a date in UTC. Undefined for any other text. */
export function parseTime(text: string): number | undefined {
  const day = TIME.exec(text)?.[1]
  if (day === undefined) return undefined
  const ms = Date.parse(text.toUpperCase())
  // The parser reads the 30th of February as a day in March.
  const dayExists = new Date(Date.parse(text.slice(0, 10))).getUTCDate() === Number(day)
  return dayExists && !Number.isNaN(ms) ? ms : undefined
}

/** Why a text is not a time, and how to write one. */
export function timeFault(text: string): string {
  const form = 'must be a time such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31'
  if (SPACE_FOR_PLUS.test(text)) return `${form}. In a URL, write the "+" of the offset as %2B`
  return WITHOUT_OFFSET.test(text) ? `${form}. Add the offset from UTC, such as Z or -05:00` : form
}

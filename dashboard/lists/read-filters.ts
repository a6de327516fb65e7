import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Filter } from './filter.ts'

/** The parameter that holds what a page did not understand, such as `status=foo`. */
export const UNKNOWN = 'unknown'

/**
 * Reads the filters of a page's address. What is no value of a filter is left out, so that no chip names a filter in
 * vain, and is in `UNKNOWN`: a list that shows more than its address asks for must say so.
 */
export function readFilters(filters: Filter[], search: Record<string, unknown>): Record<string, string | undefined> {
  const read: Record<string, string> = {}
  const unknown: string[] = []
  for (const filter of filters) {
    const value = search[filter.name]
    if (typeof value !== 'string' || value === '') continue
    if (isValueOf(filter, value)) read[filter.name] = value
    else unknown.push(`${filter.name}=${value}`)
  }
  const earlier = search[UNKNOWN]
  if (unknown.length > 0) read[UNKNOWN] = unknown.join('&')
  else if (typeof earlier === 'string') read[UNKNOWN] = earlier
  return read
}

function isValueOf({ choices, kind, pattern }: Filter, value: string): boolean {
  if (choices && !choices.some(([choice]) => choice === value)) return false
  if (pattern && !new RegExp(`^(?:${pattern})$`, 'su').test(value)) return false
  return kind !== 'time' || timeOf(value) !== undefined
}

/** An ISO 8601 time in Unix milliseconds; a date is 00:00 UTC of its day. Undefined for any other text. */
export function timeOf(text: string | undefined): number | undefined {
  const ms = text !== undefined && /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** The same time as a request has it. */
export function requestTime(text: string | undefined): Timestamp | undefined {
  const ms = timeOf(text)
  return ms === undefined ? undefined : timestampFromMs(ms)
}

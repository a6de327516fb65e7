import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Filter } from './filter.ts'

/**
 * Reads the filters of a page's address. What is no value of a filter is left out, so that no chip names a filter in
 * vain.
 */
export function readFilters(filters: Filter[], search: Record<string, unknown>): Record<string, string | undefined> {
  const read: Record<string, string> = {}
  for (const { name, choices, kind, pattern } of filters) {
    const value = search[name]
    if (typeof value !== 'string' || value === '') continue
    if (choices && !choices.some(([choice]) => choice === value)) continue
    if (pattern && !new RegExp(`^(?:${pattern})$`, 'su').test(value)) continue
    if (kind === 'time' && timeOf(value) === undefined) continue
    read[name] = value
  }
  return read
}

/** An ISO 8601 time in Unix milliseconds; a date is 00:00 UTC of its day. Undefined for any other text. */
export function timeOf(text: string | undefined): number | undefined {
  const ms = text !== undefined && /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** The same time as a request has it. */
export function timestampOf(text: string | undefined): Timestamp | undefined {
  const ms = timeOf(text)
  return ms === undefined ? undefined : timestampFromMs(ms)
}

import type { Tone } from '../status/statuses.ts'

const MANY_FAILURES = 3

interface Attempted {
  /** Failed attempts since the last acknowledged one. */
  failedSince: number
  hasAcknowledged: boolean
}

/**
 * How badly an endpoint fails: a warning after the first failure, an error after the third, or when it has never
 * acknowledged an event. Undefined when its last attempt did not fail.
 */
export function failureToneOf({
  failedSince,
  hasAcknowledged,
}: Attempted): Extract<Tone, 'error' | 'warning'> | undefined {
  if (failedSince === 0) return undefined
  return failedSince >= MANY_FAILURES || !hasAcknowledged ? 'error' : 'warning'
}

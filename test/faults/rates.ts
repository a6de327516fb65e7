import { expect } from 'vitest'
import type { ClientResponse } from './client.ts'

export const PER_MINUTE = 100
/** A tier with a low rate limit, and none of the other limits. */
export const TINY = {
  tiers: { tiny: { requests_per_minute: PER_MINUTE } },
  warmup: [],
  breaker: { min_emails: 1_000_000 },
}

/** Reads the rate-limit headers of a response. Fails when one is missing or impossible. */
export function rateOf({ status, headers, body }: ClientResponse) {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers[`x-ratelimit-${name}`]),
  )
  expect([200, 429], JSON.stringify(body)).toContain(status)
  expect(limit).toBe(PER_MINUTE)
  expect(remaining).toBeGreaterThanOrEqual(0)
  if (status === 429) {
    expect(remaining).toBe(0)
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
  }
  return { admitted: status === 200, remaining: remaining!, reset: reset! }
}

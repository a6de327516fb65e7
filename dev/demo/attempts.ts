import { RETRY_SCHEDULE } from '../../server/config/retry-schedule.ts'
import type { Random } from './random.ts'

// The responses of the demo's webhook endpoint. It responds with 503 for a while, and then catches up.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The time in which the endpoint failed, counted back from now. */
const OUTAGE_FROM_MS = 27 * HOUR_MS
const OUTAGE_LENGTH_MS = 40 * MINUTE_MS

export interface Attempt {
  number: number
  startedAtMs: number
  durationMs: number
  /** The delay of the next attempt of a failed one. */
  nextDelayMs?: number
  /** What the statement of an attempt's end stores of the response. */
  result: { outcome: string; status_code: number; phases: Record<string, number>; excerpt: string }
}

/** The attempts of a dispatch that begins at `bornAtMs`. The last one is acknowledged. */
export function attemptsAt(random: Random, bornAtMs: number, nowMs: number): Attempt[] {
  const attempts: Attempt[] = []
  let startedAtMs = bornAtMs + random.whole(2, 9)
  for (const [i, { attempt: number }] of RETRY_SCHEDULE.entries()) {
    const agoMs = nowMs - startedAtMs
    const isDown = agoMs < OUTAGE_FROM_MS && agoMs > OUTAGE_FROM_MS - OUTAGE_LENGTH_MS
    const durationMs = random.whole(28, 140)
    const phases = { head: durationMs - 1, body: 1 }
    if (!isDown) {
      attempts.push({
        number,
        startedAtMs,
        durationMs,
        result: { outcome: 'acked', status_code: 200, phases, excerpt: 'ok' },
      })
      break
    }
    const excerpt = 'The order system is being upgraded.'
    const nextDelayMs = RETRY_SCHEDULE[i + 1]!.delayMs
    const result = { outcome: 'not_200', status_code: 503, phases, excerpt }
    attempts.push({ number, startedAtMs, durationMs, nextDelayMs, result })
    startedAtMs += durationMs + nextDelayMs
  }
  return attempts
}

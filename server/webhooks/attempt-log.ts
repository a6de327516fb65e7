import type { Logger } from 'pino'
import { showId } from '../db/ids.ts'
import type { Reported } from './deliver-once.ts'

/** One line for each attempt. What the endpoint answered stays out of it: it may say anything. */
export function attemptLog(log: Logger): (attempt: Reported) => void {
  return ({ dispatchId, eventId, number, outcome, statusCode, durationMs, phases }) =>
    log.info(
      {
        event_id: showId('evt', eventId),
        dispatch_id: showId('dsp', dispatchId),
        attempt: number,
        outcome,
        status_code: statusCode,
        duration_ms: Math.round(durationMs),
        phases,
      },
      'webhook attempt',
    )
}

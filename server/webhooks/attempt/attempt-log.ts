import type { Logger } from 'pino'
import { publicId } from '../../db/ids.ts'
import type { AttemptReport } from './attempt-once.ts'

/** Logs one line for each attempt. The body of the response stays out of the log, because it may say anything. */
export function createAttemptLog(log: Logger): (attempt: AttemptReport) => void {
  return ({ dispatchId, eventId, number, outcome, statusCode, durationMs, phases, traceId }) =>
    log.info(
      {
        event_id: publicId('evt', eventId),
        dispatch_id: publicId('dsp', dispatchId),
        trace_id: traceId,
        attempt: number,
        outcome,
        status_code: statusCode,
        duration_ms: Math.round(durationMs),
        phases,
      },
      'webhook attempt',
    )
}

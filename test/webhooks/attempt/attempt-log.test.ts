import { pino } from 'pino'
import { expect, test } from 'vitest'
import { newId, publicId } from '../../../server/db/ids.ts'
import { createAttemptLog } from '../../../server/webhooks/attempt/attempt-log.ts'

test('the line of an attempt has its ids as callers know them, and nothing of the response but its status', () => {
  const lines: string[] = []
  const [dispatchId, eventId] = [newId(1), newId(2)]
  createAttemptLog(pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) }))({
    ...{ dispatchId, eventId, number: 3, durationMs: 12.34, traceId: 'a1' },
    ...{ outcome: 'not_200', statusCode: 500, phases: { head: 12.3 }, location: '/secret', excerpt: 'secret' },
  })
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      ...{ level: 30, msg: 'webhook attempt', trace_id: 'a1', attempt: 3 },
      ...{ event_id: publicId('evt', eventId), dispatch_id: publicId('dsp', dispatchId) },
      ...{ outcome: 'not_200', status_code: 500, duration_ms: 12, phases: { head: 12.3 } },
    },
  ])
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId } from '../../../server/db/ids.ts'
import { webhookHours } from '../../../server/db/schema.ts'
import { attemptsOf } from '../../../server/webhooks/endpoints/endpoint-health.ts'
import { testDatabase } from '../../harness/postgres.ts'

const database = await testDatabase()

const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 0, 1)

test('the attempts of an account are counted in the period of their hour, for every period that was asked for', async () => {
  const row = fc.record({ hour: fc.nat(30), endpoint: fc.nat(2), acknowledged: fc.nat(9), failed: fc.nat(9) })
  const rows = fc.uniqueArray(row, { selector: ({ hour, endpoint }) => `${hour} ${endpoint}`, maxLength: 40 })
  const asked = fc.record({ from: fc.nat(6), periods: fc.integer({ min: 1, max: 6 }), step: fc.constantFrom(1, 3, 4) })
  const endpoints = Array.from({ length: 3 }, () => newId(0))
  await fc.assert(
    fc.asyncProperty(rows, asked, async (rows, { from, periods, step }) => {
      const [accountId, other] = [newId(0), newId(0)]
      const stored = rows.map(({ hour, endpoint, ...counts }) => {
        const place = { endpointId: endpoints[endpoint]!, hour: new Date(START_MS + hour * HOUR_MS) }
        return { accountId, ...place, ...counts, failedSince: 0 }
      })
      const foreign = stored.map((hour) => ({ ...hour, accountId: other }))
      if (stored.length > 0) await database.db.insert(webhookHours).values([...stored, ...foreign])
      const expected = Array.from({ length: periods }, (_, period) => {
        const inside = rows.filter(({ hour }) => Math.floor((hour - from) / step) === period)
        const sum = (count: 'acknowledged' | 'failed') => inside.reduce((sum, row) => sum + row[count], 0)
        return { acknowledged: sum('acknowledged'), failed: sum('failed') }
      })
      const at = (hour: number) => START_MS + hour * HOUR_MS
      const query = { accountId, from: at(from), to: at(from + periods * step), stepMs: step * HOUR_MS }
      expect(await attemptsOf(database.db, query)).toEqual(expected)
    }),
    { numRuns: 50 },
  )
})

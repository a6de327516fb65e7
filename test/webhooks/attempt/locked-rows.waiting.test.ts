import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { connect, LOCK_MS } from '../../../server/db/connect.ts'
import { createBeginNext } from '../../../server/webhooks/attempt/begin.ts'
import { createEndAttempt } from '../../../server/webhooks/attempt/end.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { within } from '../../harness/waits.ts'
import { newEvent, storeDispatches, storeEndpoints } from '../rows.ts'

// A lock on the dispatches of one account, at any step of an attempt, stops the attempts of no other account.

const database = await testDatabase()
const db = connect(database.url, { lockMs: LOCK_MS })
afterAll(() => db.$client.end())

const begin = createBeginNext(db)
const end = createEndAttempt(db)

const STEPS: [what: string, step: (dispatchId: string, accountId: string) => Promise<unknown>][] = [
  ['begins', (dispatchId, account) => begin({ dispatchId, account, number: 2 })],
  [
    'ends',
    (dispatchId, accountId) =>
      end({
        dispatchId,
        accountId,
        number: 2,
        startedAtMs: Date.now(),
        durationMs: 5,
        urlVersion: 1,
        phases: {},
        outcome: 'acked',
      }),
  ],
]

test.each(STEPS)('an attempt of another account %s while the rows of one are locked', async (_, step) => {
  const [locked, other] = [randomUUID(), randomUUID()]
  const events = [locked, other].flatMap((accountId) => Array.from({ length: 40 }, () => newEvent(accountId)))
  await storeEndpoints(database, events)
  await storeDispatches(database, events, { attempt: 2, due: -1 })
  const holder = postgres(database.url, { max: 1 })
  await holder.unsafe('begin')
  await holder.unsafe(`select from open_dispatches where account_id = '${locked}' for update`)
  // Both accounts have rows in each batch.
  const steps = events.map(({ dispatchId, accountId }) => step(dispatchId, accountId))
  for (const each of steps) each.catch(() => {})
  const ofOther = steps.filter((_, i) => events[i]!.accountId === other)
  expect(await within(3 * LOCK_MS, Promise.all(ofOther), 'waits')).not.toBe('waits')
  await holder.end({ timeout: 0 })
})

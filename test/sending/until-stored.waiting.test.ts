import { expect, test } from 'vitest'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { OutcomeUnknown } from '../../server/errors.ts'
import { LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { delivered } from '../../server/sending/outcome.ts'
import { createRecordUntilStored, createSettleUntilStored } from '../../server/sending/until-stored.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'
import { recipient } from '../harness/recipient.ts'
import { endsOfSteps } from '../harness/step-ends.ts'

// What cannot be stored is never told as an outcome.

const database = await testDatabase()
const clock = await createDatabaseClock(database.db)
const outcomes = [delivered(recipient('ann@example.net'))]
const content = { sizeBytes: 7, digest: 'ab'.repeat(32) }

/** The database of a process that ends. */
async function closedDatabase() {
  const db = connect(database.url)
  await db.$client.end()
  return db
}

test('a record of a process that ends is unknown, and other sends learn that nothing can be recorded', async () => {
  const db = await closedDatabase()
  const ends = endsOfSteps(db)
  const record = createRecordUntilStored({ db, clock }, LEFT_TO_TEMPORAL)
  const recorded = record({ claim: newClaim(), content, outcomes }, performance.now() + 60_000)
  await expect(recorded).rejects.toBeInstanceOf(OutcomeUnknown)
  expect(ends).toEqual(['failed'])
})

test('a settlement is tried for the time of its lease, and is then unknown', async () => {
  const settle = createSettleUntilStored(await closedDatabase(), LEFT_TO_TEMPORAL)
  const startMs = performance.now()
  const settled = settle(newClaim({ leaseMs: 8_000 }), { outcomes, sandbox: false })
  await expect(settled).rejects.toBeInstanceOf(OutcomeUnknown)
  // It would be 5 s without a lease, and a pause of a second.
  expect(performance.now() - startMs).toBeGreaterThan(7_500)
})

import { expect, test } from 'vitest'
import { inArray } from '../../server/db/drizzle.ts'
import { openMessages } from '../../server/db/schema.ts'
import { run, uuidArray } from '../../server/db/statement.ts'
import { createClaim } from '../../server/ledger/claim.ts'
import { createMarker } from '../../server/ledger/marker.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { storedOutcomes } from '../../server/sending/stored-response.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'
import { letRun, outlast } from '../harness/waits.ts'

const database = await testDatabase()
const claim = createClaim(database.db)
const mark = createMarker(database.db)

/** Ends the leases of messages at random within a second. */
const END_LEASES = `
  with moved as (
    update open_messages set lease_until = clock_timestamp() + random() * interval '1 second'
    where id = any($1::uuid[]) returning id, lease_until
  )
  update open_recipients o set lease_until = moved.lease_until from moved where o.message_id = moved.id`

test('markers race with the sweeper: a marker that was set is never lost', async () => {
  const claims = Array.from({ length: 150 }, () => newClaim({ to: ['ann@example.net', 'bob@example.net'] }))
  await Promise.all(claims.map((c) => claim(c)))
  const ids = claims.map(({ messageId }) => messageId)
  // Leases end while the markers are being set.
  await run(database.db, END_LEASES, [uuidArray(ids)])
  const sweepFor = async (ms: number) => {
    for (const untilMs = performance.now() + ms; performance.now() < untilMs; ) await sweep(database.db)
  }
  const swept = sweepFor(1_200)
  const marks = await Promise.all(
    claims.map(async (c) => {
      await letRun(Math.random() * 1_000)
      return mark(c.messageId, c.claimId, [0, 1])
    }),
  )
  await swept
  await outlast(200)
  await sweep(database.db)
  await sweep(database.db)
  for (const [i, c] of claims.entries()) {
    const outcomes = await storedOutcomes(database.db, c.messageId)
    if (marks[i]) expect(outcomes.map((outcome) => outcome.inDoubt)).toEqual([true, true])
  }
  expect(await database.db.$count(openMessages, inArray(openMessages.id, ids))).toBe(0)
  expect(marks.some(Boolean)).toBe(true)
  expect(marks.every(Boolean)).toBe(false)
})

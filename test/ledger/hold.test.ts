import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { openMessages, openRecipients } from '../../server/db/schema.ts'
import { createClaim } from '../../server/ledger/claim.ts'
import { createHold } from '../../server/ledger/hold.ts'
import { createMarker } from '../../server/ledger/marker.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'

// A message whose end its process knows, and cannot store yet.

const { db } = await testDatabase()
const hold = createHold(db)

/** A claim whose lease has been over for a second. */
async function overdueClaim() {
  const claim = newClaim()
  await createClaim(db)(claim)
  const leaseUntil = sql`clock_timestamp() - interval '1 second'`
  await db.update(openMessages).set({ leaseUntil }).where(eq(openMessages.id, claim.messageId))
  await db.update(openRecipients).set({ leaseUntil }).where(eq(openRecipients.messageId, claim.messageId))
  return claim
}

test('a message that is held is not swept, and its neighbour is', async () => {
  const [held, other] = [await overdueClaim(), await overdueClaim()]
  await hold(held)
  expect(await sweep(db)).toEqual({ settled: 0, released: 1 })
  expect(await db.select({ id: openMessages.id }).from(openMessages)).toEqual([{ id: held.messageId }])
  expect(other.messageId).not.toBe(held.messageId)
  await db.delete(openMessages)
})

test('the hold of another claim keeps nothing, and a longer lease stays', async () => {
  const claim = await overdueClaim()
  await hold({ ...claim, claimId: randomUUID() })
  expect(await sweep(db)).toEqual({ settled: 0, released: 1 })
  const longer = newClaim()
  await createClaim(db)({ ...longer, leaseMs: 60_000 })
  const leaseOf = async () => (await db.select({ until: openMessages.leaseUntil }).from(openMessages))[0]!.until
  const before = await leaseOf()
  await hold(longer)
  expect(await leaseOf()).toEqual(before)
  await db.delete(openMessages)
})

test('no marker is set by a hold', async () => {
  const claim = await overdueClaim()
  await hold(claim)
  expect(await createMarker(db)(claim.messageId, claim.claimId, [0])).toBe(false)
})

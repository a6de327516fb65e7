import { expect, test } from 'vitest'
import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { removeExpired } from '../../server/db/expiry.ts'
import { newId } from '../../server/db/ids.ts'
import { run } from '../../server/db/statement.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { createMarker } from '../../server/ledger/marker.ts'
import { release } from '../../server/ledger/release.ts'
import type { Retry } from '../../server/ledger/retries.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { rejected } from '../../server/sending/outcome.ts'
import { createSettleUntilStored } from '../../server/sending/until-stored.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'
import { recipient } from '../harness/recipient.ts'

// The keys of retries in the commits of a send: taken with the claim, freed by what removes the claim.

const database = await testDatabase()
/** Two processes, each with its own statements. */
const processes: ReturnType<typeof createClaim>[] = [createClaim(database.db), createClaim(database.db)]
const claim: ReturnType<typeof createClaim> = processes[0]!
const settle = createSettleUntilStored(database.db, LEFT_TO_TEMPORAL)

/** What retries the recipients at these positions. */
function retryOf(retriedId: string, ...positions: number[]): Retry {
  return { retriedId, firstId: retriedId, recipients: positions.map((position) => ({ position, senderPosition: 0 })) }
}
const retrying = (retry: Retry, change: Partial<Claim> = {}) =>
  newClaim({ to: retry.recipients.map(({ position }) => `r${position}@example.net`), retry, ...change })
const takenBy = async (retriedId: string) =>
  (
    await run<{ position: number; id: string }>(
      database.db,
      'select retried_position as position, message_id as id from retries where retried_id = $1 order by 1',
      [retriedId],
    )
  ).map(({ position, id }) => [position, id])

async function endLease({ messageId }: Claim): Promise<void> {
  const ended = "lease_until = clock_timestamp() - interval '1 second'"
  await run(database.db, `update open_messages set ${ended} where id = $1`, [messageId])
  await run(database.db, `update open_recipients set ${ended} where message_id = $1`, [messageId])
}
const message = () => newId(Date.now())

test('a claim takes all recipients that it retries, or none', async () => {
  const retried = message()
  const first = retrying(retryOf(retried, 1))
  expect(await claim(first)).toBe('claimed')
  const second = retrying(retryOf(retried, 0, 1, 2))
  expect(await claim(second)).toBe('retried')
  expect(await takenBy(retried)).toEqual([[1, first.messageId]])
  expect((await run(database.db, 'select from open_messages where id = $1', [second.messageId])).count).toBe(0)
  expect(await claim(retrying(retryOf(retried, 0, 2)))).toBe('claimed')
})

test('of many claims in two processes each recipient is taken once, and no claim is lost or left in part', async () => {
  const retried = Array.from({ length: 4 }, message)
  const claims = Array.from({ length: 60 }, (_, i) =>
    retrying(retryOf(retried[i % 4]!, ...[[0], [1], [0, 1], [2, 1, 0], [1, 2]][i % 5]!)),
  )
  const results = await Promise.all(claims.map((each, i) => processes[i % 2]!(each)))
  expect(new Set(results)).toEqual(new Set(['claimed', 'retried']))
  for (const id of retried) {
    const ids = await takenBy(id)
    expect(new Set(ids.map(([position]) => position)).size).toBe(ids.length)
  }
  for (const [i, { messageId, retry }] of claims.entries()) {
    const { count } = await run(database.db, 'select from retries where message_id = $1', [messageId])
    expect(count).toBe(results[i] === 'claimed' ? retry!.recipients.length : 0)
  }
})

test('a retry that is taken does not disturb claims that retry nothing', async () => {
  const retried = message()
  await claim(retrying(retryOf(retried, 0)))
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) => claim(i % 2 ? newClaim() : retrying(retryOf(retried, 0)))),
  )
  expect(results).toEqual(Array.from({ length: 20 }, (_, i) => (i % 2 ? 'claimed' : 'retried')))
})

test('a claim that loses its idempotency key takes no recipient, and one that loses a recipient takes no key', async () => {
  const retried = message()
  const accountId = message()
  const key = { scope: 'send/live', key: 'k', requestHash: 'ab'.repeat(32) }
  const [first, second] = [newClaim({ accountId, key }), retrying(retryOf(retried, 0), { accountId, key })]
  expect([await claim(first), await claim(second)]).toEqual(['claimed', 'key_taken'])
  expect(await takenBy(retried)).toEqual([])
  await claim(retrying(retryOf(retried, 0)))
  const other = { ...key, key: 'other' }
  expect(await claim(retrying(retryOf(retried, 0), { accountId, key: other }))).toBe('retried')
  expect(await claim(newClaim({ accountId, key: other }))).toBe('claimed')
})

test('a claim over the warm-up takes no recipient', async () => {
  const retried = message()
  const accountId = message()
  const warmUp = { day: '2026-01-31', dailyLimit: 1, copies: 1 }
  await run(database.db, "insert into warm_ups values ($1, 'example.test', '2026-01-31', 1)", [accountId])
  expect(await claim(retrying(retryOf(retried, 0), { accountId, warmUp }))).toBe('over_warm_up')
  expect(await takenBy(retried)).toEqual([])
})

test('a release frees the recipients, with the key and the warm-up', async () => {
  const retried = message()
  const accountId = message()
  const key = { scope: 'send/live', key: 'k', requestHash: 'ab'.repeat(32) }
  const first = retrying(retryOf(retried, 0, 1), { accountId, key })
  await claim(first)
  expect(await release(database.db, first.messageId, first.claimId)).toBe(true)
  expect(await takenBy(retried)).toEqual([])
  const second = retrying(retryOf(retried, 1, 0), { accountId, key })
  expect(await claim(second)).toBe('claimed')
  expect(await takenBy(retried)).toHaveLength(2)
})

test('a crash before the marker frees the recipients; one after it leaves them taken for ever', async () => {
  const retried = message()
  const crashed = retrying(retryOf(retried, 0))
  await claim(crashed)
  await endLease(crashed)
  expect(await sweep(database.db)).toEqual({ settled: 0, released: 1 })
  expect(await takenBy(retried)).toEqual([])

  const marked = retrying(retryOf(retried, 0))
  await claim(marked)
  expect(await createMarker(database.db)(marked.messageId, marked.claimId, [0])).toBe(true)
  await endLease(marked)
  expect(await sweep(database.db)).toEqual({ settled: 1, released: 0 })
  expect(await takenBy(retried)).toEqual([[0, marked.messageId]])
})

test('a settlement takes the recipients; its repeat after a lost result is the same, and another one is refused', async () => {
  const retried = message()
  const first = retrying(retryOf(retried, 0))
  const end = { outcomes: [rejected(recipient('r0@example.net'), Reason.SUPPRESSION_LIST)], sandbox: false }
  expect(await settle(first, end)).toBe('claimed')
  expect(await settle(first, end)).toBe('claimed')
  expect(await settle(retrying(retryOf(retried, 0)), end)).toBe('retried')
  expect(await takenBy(retried)).toEqual([[0, first.messageId]])
})

const RETRY = `
  insert into retries (account_id, retried_id, retried_position, message_id, position, first_id, sender_position)
  values ($1, $2, 0, $1, 0, $2, 0)`

test('the keys of retries are kept as long as their messages', async () => {
  const { db } = database
  const DAY_MS = 86_400_000
  const [old, kept] = [newId(Date.now() - 91 * DAY_MS), newId(Date.now() - 89 * DAY_MS)]
  for (const messageId of [old, kept]) {
    await run(db, RETRY, [messageId, newId(Date.now() - 97 * DAY_MS)])
  }
  await removeExpired(db)
  const left = await run<{ id: string }>(db, 'select message_id as id from retries where message_id in ($1, $2)', [
    old,
    kept,
  ])
  expect(left.map(({ id }) => id)).toEqual([kept])
})

import { afterEach, expect, test, vi } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { eq } from '../../server/db/drizzle.ts'
import { openMessages } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { createMarker } from '../../server/ledger/marker.ts'
import { keepSweeping, type SweepResult, sweep, sweepMessage } from '../../server/ledger/sweep.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'
import { refuseRows } from '../harness/refuse-rows.ts'

// The rounds of the sweeper. What it makes of one message is in steps.test.ts.

const database = await testDatabase()
const db = database.db
afterEach(() => vi.useRealTimers())

/** Sends whose process was killed, and whose lease is over; `marked` of them had a marker. */
async function killedSends(count: number, marked = 0): Promise<void> {
  const claims = Array.from({ length: count }, () => newClaim())
  await Promise.all(claims.map(createClaim(db)))
  const mark = createMarker(db)
  await Promise.all(claims.slice(0, marked).map(({ messageId, claimId }) => mark(messageId, claimId, [0])))
  await run(db, "update open_messages set lease_until = clock_timestamp() - interval '1 second'")
}

/** Sweeps from now on; `rounds` counts them. */
function startSweeping(swept: Database) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const reports: (SweepResult | { error: unknown })[] = []
  let rounds = 0
  const sweeping = keepSweeping(swept, {
    report: (result) => void reports.push(result),
    wrap: (round) => async () => {
      await round()
      rounds++
    },
  })
  return { reports, rounds: () => rounds, stop: sweeping.stop }
}

test('a round every five seconds sweeps until nothing is due, and reports what it found', async () => {
  await killedSends(100, 2)
  const { reports, rounds, stop } = startSweeping(db)
  vi.advanceTimersByTime(4_999)
  expect(await db.$count(openMessages)).toBe(100)
  vi.advanceTimersByTime(1)
  await expect.poll(rounds).toBe(1)
  expect(reports).toEqual([{ settled: 2, released: 98 }])

  await killedSends(101)
  vi.advanceTimersByTime(5_000)
  await expect.poll(rounds).toBe(2)
  expect(reports.slice(1)).toEqual([
    { settled: 0, released: 100 },
    { settled: 0, released: 1 },
  ])
  expect(await db.$count(openMessages)).toBe(0)

  vi.advanceTimersByTime(5_000)
  await expect.poll(rounds).toBe(3)
  expect(reports).toHaveLength(3)
  stop()
  await killedSends(1)
  vi.advanceTimersByTime(60_000)
  expect(rounds()).toBe(3)
})

test('a round that fails is reported, and the next one tries again', async () => {
  const broken = connect(database.url)
  await broken.$client.end()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const reports: unknown[] = []
  const { stop } = keepSweeping(broken, { report: (result) => void reports.push(result) })
  vi.advanceTimersByTime(5_000)
  await expect.poll(() => reports.length).toBe(1)
  expect(reports).toEqual([{ error: expect.any(Error) }])
  vi.advanceTimersByTime(5_000)
  await expect.poll(() => reports.length).toBe(2)
  stop()
})

test('a request that waits for one killed send sweeps that one alone', async () => {
  const [waited, other] = [newClaim(), newClaim()]
  const claim = createClaim(db)
  await claim(waited)
  await claim(other)
  await run(db, "update open_messages set lease_until = clock_timestamp() - interval '1 second'")
  await sweepMessage(db, waited.messageId)
  const isOpen = ({ messageId }: Claim) => db.$count(openMessages, eq(openMessages.id, messageId))
  expect([await isOpen(waited), await isOpen(other)]).toEqual([0, 1])
})

test('a message that PostgreSQL refuses to settle stays, and the others are counted', async () => {
  await run(db, 'delete from open_messages')
  await killedSends(3, 1)
  const maySettle = await refuseRows(db, 'insert on', 'recipients', '23514')
  expect(await sweep(db)).toEqual({ settled: 0, released: 2 })
  await expect(sweep(db)).rejects.toThrow('not now')
  await maySettle()
  expect(await sweep(db)).toEqual({ settled: 1, released: 0 })
})

test('only the id of a message becomes part of a statement', async () => {
  const { messageId } = newClaim()
  for (const id of [`x${messageId}`, `${messageId}'`, `' or true or id = '${messageId}`, ''])
    await expect(sweepMessage(db, id)).rejects.toThrow('not the id of a message')
})

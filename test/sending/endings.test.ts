import { expect, test } from 'vitest'
import { one, run } from '../../server/db/statement.ts'
import { fail } from '../../server/errors.ts'
import { createClaim } from '../../server/ledger/claim.ts'
import { createStoreEnding } from '../../server/sending/endings.ts'
import { aroundStatements } from '../harness/around-statements.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'

// What a process knows of a send is stored, however long that takes.

const { db } = await testDatabase()
const storeEnding = createStoreEnding(db)
const LEASE = 'select lease_until as until from open_messages where id = $1'
const leaseUntilMs = () => performance.now() + 60_000

/** The work of an ending that fails this many times. */
function failing(times: number) {
  let tries = 0
  return async () => {
    if (tries++ < times) throw new Error('not now')
    return tries
  }
}

test('an ending is tried until it is stored, each time after twice the pause', async () => {
  const errors: unknown[] = []
  const startMs = performance.now()
  expect(await storeEnding(newClaim(), leaseUntilMs(), failing(3), (error) => errors.push(error))).toBe(4)
  expect(errors).toHaveLength(3)
  // 50, 100 and 200 ms; timers end up to a millisecond early.
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(345)
})

test('a message whose end cannot be stored before its lease is over is held', async () => {
  const claim = newClaim({ leaseMs: 5_000 })
  await createClaim(db)(claim)
  const untilOf = async () => one(await run<{ until: Date }>(db, LEASE, [claim.messageId])).until
  const until = await untilOf()
  expect(await storeEnding(claim, performance.now() + 5_000, failing(2))).toBe(3)
  await expect.poll(untilOf).not.toEqual(until)
})

test('a message whose lease lasts is not held', async () => {
  const [far, near] = [newClaim({ leaseMs: 60_000 }), newClaim({ leaseMs: 5_000 })]
  const claim = createClaim(db)
  await Promise.all([claim(far), claim(near)])
  const untilOf = async ({ messageId }: typeof far) => one(await run<{ until: Date }>(db, LEASE, [messageId])).until
  const before = [await untilOf(far), await untilOf(near)]
  await storeEnding(far, leaseUntilMs(), failing(2))
  await storeEnding(near, performance.now() + 5_000, failing(1))
  // It is held after the other one would have been.
  await expect.poll(() => untilOf(near)).not.toEqual(before[1])
  expect(await untilOf(far)).toEqual(before[0])
})

test('a message is held once, and not at each try', async () => {
  let holds = 0
  const counting = aroundStatements(db, (statement, run) => {
    if (statement.includes('lease_until')) holds++
    return run()
  })
  const claim = newClaim({ leaseMs: 5_000 })
  await createClaim(db)(claim)
  expect(await createStoreEnding(counting)(claim, performance.now() + 5_000, failing(4))).toBe(5)
  expect(holds).toBe(1)
})

test('a decided end is not tried again', async () => {
  let tries = 0
  const decided = fail('transient_failure', 'The send was given up.')
  const ending = storeEnding(newClaim(), leaseUntilMs(), async () => {
    tries++
    throw decided
  })
  await expect(ending).rejects.toBe(decided)
  expect(tries).toBe(1)
})

test('a shutdown waits for the ends that are not stored', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stored: string[] = []
  void storeEnding(newClaim(), leaseUntilMs(), () => promise).then(() => stored.push('the end'))
  const idle = db.recording.idle(60_000).then(() => stored.push('idle'))
  setImmediate(resolve)
  await idle
  expect(stored).toEqual(['the end', 'idle'])
})

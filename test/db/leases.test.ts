import { afterAll, afterEach, expect, test } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { isHeld, LeaseLost, takeLease } from '../../server/db/leases.ts'
import { run } from '../../server/db/statement.ts'
import { testDatabase } from '../harness/postgres.ts'

// Locks that last longer than a transaction.

const database = await testDatabase()
const other = connect(database.url, { connections: 1 })
afterAll(() => other.$client.end())
afterEach(() => run(database.db, 'delete from leases'))

const letTimePass = () => run(database.db, `update leases set until = clock_timestamp() - interval '1 second'`)
const heldIn = (db: Database) => db.$client.begin((tx) => isHeld(tx, 'work'))

test('a lease has one holder, until it is freed', async () => {
  const both = await Promise.all([takeLease(database.db, 'work'), takeLease(other, 'work')])
  const [lease] = both.filter((one) => one !== undefined)
  expect(both.filter((one) => one !== undefined)).toHaveLength(1)
  expect(await takeLease(other, 'work')).toBeUndefined()
  const apart = await takeLease(other, 'other work')
  await lease!.free()
  await apart!.free()
  const next = await takeLease(other, 'work')
  expect(next).toBeDefined()
  await next!.free()
})

test('the lease of a killed holder can be taken when its time is up, and the holder can then not renew it', async () => {
  const lease = (await takeLease(database.db, 'work'))!
  await letTimePass()
  const next = (await takeLease(other, 'work'))!
  await expect(lease.renew(database.db)).rejects.toThrow(LeaseLost)
  // A late end of the first holder frees nothing of the second one.
  await lease.free()
  expect(await heldIn(other)).toBe(true)
  await next.free()
})

test('a holder that renews late keeps a lease that no other process has taken', async () => {
  const lease = (await takeLease(database.db, 'work'))!
  await letTimePass()
  await lease.renew(database.db)
  expect(await takeLease(other, 'work')).toBeUndefined()
  await lease.free()
})

test('whoever takes a lease waits for the transaction that has renewed it', async () => {
  const lease = (await takeLease(database.db, 'work'))!
  await letTimePass()
  const order: string[] = []
  let taking: Promise<unknown> | undefined
  await database.db.$client.begin(async (tx) => {
    await lease.renew(tx)
    taking = takeLease(other, 'work').then((next) => order.push(next ? 'taken' : 'refused'))
    const waiting = `select count(*)::int as n from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(async () => (await run<{ n: number }>(database.db, waiting))[0]!.n).toBe(1)
    order.push('committed')
  })
  await taking
  expect(order).toEqual(['committed', 'refused'])
  await lease.free()
})

test('whoever asks whether a lease is held ends one whose time is up', async () => {
  expect(await heldIn(other)).toBe(false)
  const lease = (await takeLease(database.db, 'work'))!
  expect(await heldIn(other)).toBe(true)
  await letTimePass()
  expect(await heldIn(other)).toBe(false)
  await expect(lease.renew(database.db)).rejects.toThrow(LeaseLost)
  await lease.free()
})

test('a lease outlives the session that took it, as in a fail-over', async () => {
  const lease = (await takeLease(other, 'work'))!
  const pid = async () => (await run<{ pid: number }>(other, 'select pg_backend_pid() as pid'))[0]!.pid
  const before = await pid()
  await run(database.db, 'select pg_terminate_backend($1, 10000)', [before])
  await expect.poll(() => pid().catch(() => before)).not.toBe(before)
  expect(await takeLease(database.db, 'work')).toBeUndefined()
  await lease.renew(other)
  await lease.free()
})

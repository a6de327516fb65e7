import { expect, test } from 'vitest'
import type { Database } from '../../server/db/connect.ts'
import { newId } from '../../server/db/ids.ts'
import { accounts } from '../../server/db/schema.ts'
import { MAX_STREAMS, StreamLeases } from '../../server/stream/stream-leases.ts'
import { testDatabase } from '../harness/postgres.ts'
import { untilEnd } from '../harness/until-end.ts'

test('a place whose commit fails is free again', async () => {
  const { db } = await testDatabase()
  const account = newId(Date.now())
  await db.insert(accounts).values({ id: account, name: 'Shop' })
  let isFailing = true
  const failing = new Proxy(db, {
    get: (target, name) =>
      name === 'transaction' && isFailing
        ? (work: Parameters<Database['transaction']>[0]) =>
            target.transaction(async (tx) => {
              await work(tx)
              throw new Error('the commit failed')
            })
        : Reflect.get(target, name),
  })
  const leases = untilEnd(new StreamLeases(failing, () => {}))
  await expect(leases.take(account)).rejects.toThrow('the commit failed')
  isFailing = false
  const releases = await Promise.all(Array.from({ length: MAX_STREAMS }, () => leases.take(account)))
  await expect(leases.take(account)).rejects.toThrow(/100 open streams/)
  for (const release of releases) release()
})

test('a place that is left is taken again without a transaction, and is free for other processes soon', async () => {
  const { db } = await testDatabase()
  const account = newId(Date.now())
  await db.insert(accounts).values({ id: account, name: 'Shop' })
  let transactions = 0
  const counted = new Proxy(db, {
    get(target, name) {
      if (name === 'transaction') transactions++
      return Reflect.get(target, name)
    },
  })
  const leases = untilEnd(new StreamLeases(counted, () => {}))
  const other = untilEnd(new StreamLeases(db, () => {}))
  const releases = await Promise.all(Array.from({ length: MAX_STREAMS }, () => leases.take(account)))
  const opened = transactions
  // The first one goes alone, and the others wait for it.
  expect(opened).toBe(2)
  for (let i = 0; i < 500; i++) {
    releases.shift()!()
    releases.push(await leases.take(account))
  }
  expect(transactions).toBe(opened)
  await expect(other.take(account)).rejects.toThrow(/100 open streams/)
  releases.shift()!()
  await expect.poll(() => other.take(account).then(() => 'taken', String)).toBe('taken')
  await expect(leases.take(account)).rejects.toThrow(/100 open streams/)
})

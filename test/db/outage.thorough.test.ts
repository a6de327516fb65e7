import { afterAll, expect, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { isLost, throughOutage } from '../../server/db/outage.ts'
import { run } from '../../server/db/statement.ts'
import { proxiedDatabase } from '../harness/proxied-database.ts'
import { letArrive } from '../harness/waits.ts'

// A database that moves behind one address: for a moment no server answers there, then another one.

const proxied = await proxiedDatabase()
const db = connect(proxied.url.href, { connections: 4 })
afterAll(async () => {
  await db.$client.end({ timeout: 1 })
})

const one = () => run<{ one: number }>(db, 'select 1 as one')

/** The address leads nowhere while `action` begins, and then to the server again. */
async function duringOutage<T>(action: () => Promise<T>): Promise<T> {
  const { proxy } = proxied
  const { target } = proxy
  proxy.target = undefined
  proxy.reset()
  await letArrive(50)
  const result = action()
  result.catch(() => {})
  await letArrive(700)
  proxy.target = target
  return result
}

test('statements that begin while the database moves wait for it, and none fails', async () => {
  await one()
  const rows = await duringOutage(() => Promise.all(Array.from({ length: 20 }, one)))
  expect(rows.map(([row]) => row!.one)).toEqual(Array(20).fill(1))
})

test('a statement that the move cuts off fails, and is repeated where that is harmless', async () => {
  await one()
  const slow = () => run(db, 'select 2 as two, pg_sleep(0.3)')
  const cutOff = slow()
  await letArrive(100)
  proxied.proxy.reset()
  await expect(cutOff).rejects.toSatisfy(isLost)
  let tries = 0
  const repeated = throughOutage(db, () => {
    tries++
    return slow()
  })
  await letArrive(100)
  proxied.proxy.reset()
  expect(await repeated).toMatchObject([{ two: 2 }])
  expect(tries).toBeGreaterThan(1)
})

test('an error that is not about the connection is not repeated', async () => {
  let tries = 0
  const wrong = throughOutage(db, () => {
    tries++
    return run(db, 'select 1/0')
  })
  await expect(wrong).rejects.toMatchObject({ code: '22012' })
  expect(tries).toBe(1)
})

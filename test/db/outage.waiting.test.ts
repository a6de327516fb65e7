import { afterAll, expect, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { stepInTime } from '../../server/db/outage.ts'
import { run } from '../../server/db/statement.ts'
import { proxiedDatabase } from '../harness/proxied-database.ts'
import { letRun } from '../harness/waits.ts'

// The time of a step of a request, which is 5 s.

const proxied = await proxiedDatabase()
const db = connect(proxied.url.href, { connections: 4 })
await run(db, 'select 1')
afterAll(async () => {
  await db.$client.end({ timeout: 1 })
})

const step = (sql: string) => stepInTime(db, run(db, sql))

test('a step that the database does not answer is late after 5 s', async () => {
  await expect(step('select pg_sleep(8)')).rejects.toThrow('no result within 5000 ms')
})

test('a step waits through an outage of 9 s, and then has its own time', async () => {
  const { proxy } = proxied
  const { target } = proxy
  proxy.target = undefined
  proxy.reset()
  await letRun(100)
  const steps = [step('select 1 as one'), step('select 1 as one, pg_sleep(3)')]
  for (const one of steps) one.catch(() => {})
  await letRun(9_000)
  proxy.target = target
  expect(await Promise.all(steps)).toMatchObject([[{ one: 1 }], [{ one: 1 }]])
})

test('a step fails when an outage does not pass', async () => {
  const { proxy } = proxied
  const { target } = proxy
  proxy.target = undefined
  proxy.reset()
  await letRun(100)
  await expect(step('select 1')).rejects.toThrow()
  proxy.target = target
})

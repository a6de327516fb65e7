import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'
import { testDatabase } from '../harness/postgres.ts'
import { outlast } from '../harness/waits.ts'

let db: Database
/** Beside the connections of the test. */
let observer: Database
beforeEach(async () => {
  const database = await testDatabase()
  const pools = [connect(database.url), connect(database.url, { connections: 1 })] as const
  ;[db, observer] = pools
  onTestFinished(async () => {
    for (const pool of pools) await pool.$client.end({ timeout: 1 })
  })
})

/** The server process that runs a statement. */
async function backend(seconds = 0): Promise<number> {
  const [row] = await run<{ pid: number }>(db, 'select pg_backend_pid() as pid, pg_sleep($1)', [seconds])
  return row!.pid
}
const backends = async (count: number) => {
  const pids: number[] = []
  for (let i = 0; i < count; i++) pids.push(await backend())
  return new Set(pids)
}

test('statements that follow each other run in the same server process', async () => {
  expect((await backends(20)).size).toBe(1)
})

test('statements of the same moment run in as many server processes as there are connections', async () => {
  const pids = await Promise.all(Array.from({ length: 10 }, () => backend(0.2)))
  expect(new Set(pids).size).toBe(10)
  expect((await backends(20)).size).toBe(1)
})

test('a statement does not wait for a connection that has just closed', async () => {
  // All connections are open.
  await Promise.all(Array.from({ length: 10 }, () => backend(0.2)))
  const first = await backend()
  await run(observer, 'select pg_terminate_backend($1)', [first])
  await expect.poll(() => db.load.open).toBe(9)
  const startedMs = performance.now()
  expect(await backend()).not.toBe(first)
  // Less than REOPEN_MS, the time until a closed connection may be opened again.
  expect(performance.now() - startedMs).toBeLessThan(400)
  await outlast(600)
  expect((await backends(5)).size).toBe(1)
  expect(db.load.open).toBe(10)
})

test('the end of the pool closes every connection', async () => {
  await Promise.all(Array.from({ length: 10 }, () => backend(0.2)))
  expect(db.load.open).toBe(10)
  await db.$client.end({ timeout: 1 })
  await expect.poll(() => db.load.open).toBe(0)
})

import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'
import { REOPEN_MS } from '../../server/db/warm.ts'
import { proxiedDatabase } from '../harness/proxied-database.ts'
import type { TcpProxy } from '../harness/proxy.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { outlast, quietFor, takes } from '../harness/waits.ts'

// What postgres.js does once patches/ has mended it (docs/adr/0074-patched-driver.md).

let proxy: TcpProxy
let db: Database
/** Not through the proxy. */
let observer: Database
beforeEach(async () => {
  const { database, url, proxy: front } = await proxiedDatabase()
  proxy = front
  const pools = [connect(url.href), connect(database.url, { connections: 1 })] as const
  ;[db, observer] = pools
  onTestFinished(async () => {
    for (const pool of pools) await pool.$client.end({ timeout: 1 })
  })
})

const nap = (seconds: number) => run(db, 'select pg_sleep($1)', [seconds])

/** How many statements sleep in the server. */
async function asleep(): Promise<number> {
  const [row] = await run<{ count: number }>(
    observer,
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
    [],
  )
  return row!.count
}

/** Goes on to another connection as soon as one has broken. */
async function callUntilServed(seconds: number): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    const [result] = await Promise.allSettled([nap(tries === 0 ? seconds : 0)])
    if (result.status === 'fulfilled') return
  }
}

const nameOf = async () => (await run<{ name: string }>(db, `select $1 as name`, ['ann']))[0]!.name

test('connections that broke all at once, while callers went from one to the next, serve again', async () => {
  await Promise.all(Array.from({ length: 10 }, () => nap(0.2)))
  // Sockets that broke together close in the reverse order. The sleeping caller has the last connection, so it goes on
  // to those that are about to close.
  const callers = [0.1, 0.1, 0.1, 60].map(callUntilServed)
  await expect.poll(asleep).toBe(1)
  proxy.reset()
  await Promise.all(callers)
  await outlast(REOPEN_MS + 100)
  const watch = stopwatch()
  await Promise.all(Array.from({ length: 10 }, nameOf))
  // The pool would wait for ever for a connection that it takes for open.
  expect(watch.ms()).toBeLessThan(3_000)
})

test('the first statement after the server has ended a session does not fail with the error of that session', async () => {
  const ended = Promise.allSettled(Array.from({ length: 10 }, () => nap(60)))
  await expect.poll(asleep).toBe(10)
  await run(
    observer,
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`,
  )
  expect(new Set((await ended).map(({ status }) => status))).toEqual(new Set(['rejected']))
  await outlast(REOPEN_MS + 100)
  expect(await Promise.all(Array.from({ length: 10 }, nameOf))).toEqual(Array(10).fill('ann'))
})

test('a transaction whose connection broke runs none of its later statements, and the process goes on', async () => {
  await run(db, 'create table notes (text text)')
  const broken = db.$client.begin(async (tx) => {
    await tx`insert into notes values ('first')`
    proxy.reset()
    await takes(1_200)
    await tx`insert into notes values ('second')`
  })
  await expect(broken).rejects.toMatchObject({ code: expect.stringMatching('CONNECTION_CLOSED|ECONNRESET') })
  await quietFor(1_500)
  expect([...(await run(observer, 'select text from notes'))]).toEqual([])
})

test('a statement fails when the server closes each new connection without a word', async () => {
  proxy.onMessage = () => 'half_close'
  const watch = stopwatch()
  await expect(nameOf()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  // Without the patch the driver connects for ever.
  expect(watch.ms()).toBeLessThan(3_000)
})

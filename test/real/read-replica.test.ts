import { randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { makePartitions } from '../../server/db/partitions.ts'
import { diagnose } from '../cli/doctor/patients.ts'
import { change, startReplicas } from '../faults/replicas.ts'
import { openAccount } from '../harness/account.ts'
import { testDatabase } from '../harness/postgres.ts'
import { untilEnd } from '../harness/until-end.ts'
import { parseScrape } from '../telemetry/scrape.ts'
import { eventually } from './daemon.ts'
import { type Account, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// An API whose lists are read from a PostgreSQL that follows the primary by streaming replication, asynchronously.

let replicas: Awaited<ReturnType<typeof startReplicas>>
let product: Product
let env: Record<string, string>
beforeAll(async () => {
  replicas = await startReplicas()
  untilEnd(replicas.database)
  const { first, second, database } = replicas
  await change(first, `alter system set synchronous_standby_names = ''`)
  await makePartitions(database.db)
  const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
  const { key } = await openAccount(database.db, ENCRYPTION_KEYS, SENDER_DOMAIN)
  env = { DATABASE_URL: first.url, DATABASE_READ_URL: second.url, ENCRYPTION_KEYS }
  product = await startProduct({ key, env } as Account, {})
})
async function send(headers = {}): Promise<string> {
  const { status, body } = await product.send({ to: 'delivered@simulator.test' }, headers)
  expect([status, body.status]).toEqual([200, 'delivered'])
  return body.message_id
}

const listed = async (): Promise<string[]> =>
  (await product.get('/api/v1/emails?limit=100')).emails.map(({ message_id }: { message_id: string }) => message_id)
const eventsOf = async (id: string) => (await product.get(`/api/v1/events?message_id=${id}`)).events
const replicaState = async () => (await product.get('/readyz')).checks.replica
const until = (state: string) => eventually(async () => ((await replicaState()) === state ? true : undefined), 25_000)

/** How many lists and statistics each server has served. */
async function served(): Promise<{ replica: number; primary: number }> {
  const { series } = parseScrape(await (await fetch(product.api.metricsUrl)).text())
  const reads = series.filter(({ name }) => name === 'verdict_database_history_reads_total')
  return Object.fromEntries(reads.map(({ labels, value }) => [labels.server, value])) as never
}

const logLines = (words: string) =>
  product.api
    .stdout()
    .split('\n')
    .filter((line) => line.includes(words)).length

test('the replica serves lists and statistics, and the doctor says how closely it follows', async () => {
  const id = await send()
  await expect.poll(listed).toContain(id)
  const before = await served()
  await Promise.all(['/api/v1/emails', '/api/v1/events', '/api/v1/stats'].map((path) => product.get(path)))
  expect(await served()).toEqual({ ...before, replica: before.replica + 3 })
  expect(before.primary).toBe(0)
  expect(await product.get('/readyz')).toMatchObject({ status: 'ready', checks: { replica: 'ok' } })
  expect(await diagnose('replicas', env)).toMatchObject({
    state: 'ok',
    seen: expect.stringContaining('follows within'),
  })
})

test('a list may lag; a send, its repeat, its email and its events never do; a replica that is far behind serves nothing', async () => {
  const { second } = replicas
  await change(second, 'select pg_wal_replay_pause()')
  const key = { 'idempotency-key': 'while-it-lags' }
  const id = await send(key)
  expect(await send(key)).toBe(id)
  expect(await product.get(`/api/v1/emails/${id}`)).toMatchObject({ message_id: id, status: 'delivered' })
  expect(await eventsOf(id)).toHaveLength(1)
  expect(await listed()).not.toContain(id)
  await until('behind')
  expect(await listed()).toContain(id)
  expect(await product.get('/readyz')).toMatchObject({ status: 'ready' })
  expect(await diagnose('replicas', env)).toMatchObject({ state: 'warning', seen: expect.stringContaining('behind') })
  expect(logLines('too far behind')).toBe(1)
  await change(second, 'select pg_wal_replay_resume()')
  await until('ok')
  expect(await listed()).toContain(id)
  expect(logLines('a replica serves reads')).toBe(1)
})

test('no list fails when the replica is killed under them, the primary serves them, and the replica does when it is back', async () => {
  const { second } = replicas
  let lists = 0
  let isOver = false
  const readers = Array.from({ length: 4 }, async () => {
    for (; !isOver; lists++) expect(await listed()).not.toEqual([])
  })
  await expect.poll(() => lists).toBeGreaterThan(20)
  await second.kill()
  await until('away')
  const { primary } = await served()
  await expect.poll(async () => (await served()).primary).toBeGreaterThan(primary)
  expect(await diagnose('replicas', env)).toMatchObject({
    state: 'warning',
    seen: expect.stringContaining('cannot be read'),
  })
  await second.start()
  await until('ok')
  const { replica } = await served()
  await expect.poll(async () => (await served()).replica).toBeGreaterThan(replica)
  isOver = true
  await Promise.all(readers)
})

test('no list fails when the replica vanishes silently', async () => {
  const { second } = replicas
  const id = await send()
  await expect.poll(listed).toContain(id)
  second.proxy.onMessage = () => 'hang'
  expect(await listed()).toContain(id)
  await until('away')
  second.proxy.onMessage = () => undefined
  await until('ok')
})

test('a server that is no copy of the database serves nothing, and the doctor fails', async () => {
  const stranger = await testDatabase()
  const foreign = { ...env, DATABASE_READ_URL: stranger.url }
  expect(await diagnose('replicas', foreign)).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('is no copy of the database in DATABASE_URL'),
  })
  const empty = await testDatabase('template1')
  expect(await diagnose('replicas', { ...env, DATABASE_READ_URL: empty.url })).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('has no tables of Verdict'),
  })
})

import { randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { makePartitions } from '../../server/db/partitions.ts'
import { change, startReplicas } from '../faults/replicas.ts'
import { openAccount } from '../harness/account.ts'
import { untilEnd } from '../harness/until-end.ts'
import { eventually } from './daemon.ts'
import { type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// Positions of the event stream over a crash of PostgreSQL, and over the promotion of a standby that lacks the last
// events. test/faults/event-streams.test.ts has a synchronous promotion, backup.test.ts the restores.

let replicas: Awaited<ReturnType<typeof startReplicas>>
let product: Product
let key: string
beforeAll(async () => {
  replicas = await startReplicas()
  untilEnd(replicas.database)
  await change(replicas.first, `alter system set synchronous_standby_names = ''`)
  await makePartitions(replicas.database.db)
  const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
  key = (await openAccount(replicas.database.db, ENCRYPTION_KEYS, SENDER_DOMAIN)).key
  const env = { DATABASE_URL: replicas.url, ENCRYPTION_KEYS }
  product = await startProduct({ key, env, zone: '', database: replicas.database }, {})
})

async function send(): Promise<void> {
  const { body } = await product.send({ to: 'delivered@simulator.test' })
  expect(body.status).toBe('delivered')
}

async function changes(after: string) {
  const url = `${product.api.url}/api/v1/events/changes?limit=100&after=${after}`
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  const body = (await response.json()) as {
    events?: { event: { event_id: string }; position: string }[]
    error?: string
  }
  return { status: response.status, error: body.error, events: body.events ?? [] }
}
const idsAfter = async (position: string) => (await changes(position)).events.map(({ event }) => event.event_id)

/** Resolves when the product serves again. */
const served = () =>
  eventually(async () => {
    const { status } = await fetch(`${product.api.url}/readyz`)
    return status === 200 ? true : undefined
  }, 30_000)

test('a crash of PostgreSQL keeps every position, and a promotion those of the events that the standby had', async () => {
  const { first, second, promote } = replicas
  await send()
  await send()
  const { events } = await changes('begin')
  expect(events).toHaveLength(2)
  await first.kill()
  await first.start()
  await served()
  const ids = events.map(({ event }) => event.event_id)
  expect(await idsAfter('begin')).toEqual(ids)
  expect(await idsAfter(events[0]!.position)).toEqual(ids.slice(1))

  const replicated = async () => {
    const lag = 'select pg_current_wal_lsn() <= replay_lsn as is_equal from pg_stat_replication'
    return (await change(first, lag))[0]?.is_equal || undefined
  }
  await eventually(replicated, 30_000)
  await change(second, `alter system set primary_conninfo = ''`)
  await eventually(async () => (await change(first, 'select from pg_stat_replication')).length === 0 || undefined)
  await send()
  await send()
  const lost = (await changes(events[1]!.position)).events
  expect(lost).toHaveLength(2)
  await first.kill()
  await promote(second)
  await served()
  expect(await idsAfter(events[0]!.position)).toEqual(ids.slice(1))
  for (const { position } of lost)
    expect(await changes(position)).toMatchObject({ status: 410, error: 'event_expired' })
  await send()
  const [next, ...others] = await idsAfter(events[1]!.position)
  expect(others).toEqual([])
  expect([...ids, ...lost.map(({ event }) => event.event_id)]).not.toContain(next)
})

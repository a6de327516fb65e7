import { beforeEach, expect, test } from 'vitest'
import { applyMigrations } from '../../server/db/migrations.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letRun, quietFor } from '../harness/waits.ts'
import type { Server } from './cluster.ts'
import { runKeyedLoad } from './keyed-load.ts'
import { tally } from './load.ts'
import type { Node } from './node.ts'
import { change, follow, startReplicas } from './replicas.ts'
import { startFaultWorld, type World } from './world.ts'

let replicas: Awaited<ReturnType<typeof startReplicas>>
let world: World
beforeEach(async () => {
  replicas = await startReplicas()
  // The shortest budget, and so the shortest leases: callers wait for those of sends that the failure cut off.
  const env = { DATABASE_URL: replicas.url, SEND_BUDGET_MS: '20000' }
  world = untilEnd(await startFaultWorld({ database: replicas.database, env }))
})

const deliveredSince = (ms: number) =>
  world.logs.requests.filter(
    ({ sentAtMs, body }) => sentAtMs > ms && (body as { status?: string } | undefined)?.status === 'delivered',
  )

const deliveries = () => deliveredSince(0).length

/** Expects, within five seconds, the response to a send that begins after the call. `purpose` names the sends. */
async function expectServed(node: Node, purpose: string): Promise<void> {
  const nowMs = performance.now()
  // The callers so far may all be waiting for the keys of sends that the failure cut off.
  const others = runKeyedLoad(10, purpose, () => node)
  await expect.poll(() => deliveredSince(nowMs).length).toBeGreaterThan(20)
  await others.stop()
  const servedMs = Math.min(...deliveredSince(nowMs).map(({ endedAtMs }) => endedAtMs!)) - nowMs
  console.log(`served after ${Math.round(servedMs)} ms`, tally(world.logs.requests))
  // The promised time.
  expect(servedMs).toBeLessThan(5_000)
}

/** The sessions of the service on a server. */
const sessionsOn = async (server: Server) =>
  (await change(server, `select pid from pg_stat_activity where application_name like 'verdict%'`)).length

test('after the primary is killed and the synchronous standby promoted, nothing acknowledged is lost, nothing is mailed twice, and sends are served within 5 s', async () => {
  const { first, second, promote } = replicas
  const node = await world.start()
  const load = runKeyedLoad(30, 'failover', () => node)
  await expect.poll(deliveries).toBeGreaterThan(50)
  await first.kill()
  await expect.poll(() => tally(world.logs.requests)['500'] ?? 0).toBeGreaterThan(0)
  expect(await node.client.get('/readyz')).toMatchObject({ status: 503 })
  await promote(second)
  await expectServed(node, 'promoted')
  await load.stop()
  expect(await world.verdict()).toEqual([])
})

test('after a switch-over no connection stays on the old primary, which comes back as a read-only standby and first in DATABASE_URL', async () => {
  const { first, second, promote, url } = replicas
  const node = await world.start()
  const load = runKeyedLoad(10, 'switch-over', () => node)
  await expect.poll(deliveries).toBeGreaterThan(20)
  await first.stop()
  await promote(second)
  await follow(first.dataDir, second)
  await first.start()
  await expectServed(node, 'switched')
  await change(second, `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'verdict%'`)
  await expectServed(node, 'terminated')
  await load.stop()
  await applyMigrations(url)
  const other = await world.start()
  expect(await other.client.get('/readyz')).toMatchObject({ status: 200 })
  await expect.poll(() => sessionsOn(first)).toBe(0)
  expect(await sessionsOn(second)).toBeGreaterThan(0)
  expect(await world.verdict()).toEqual([])
})

test('sends are served within 5 s of the promotion when the primary vanishes silently, and no process uses it when it comes back and still takes writes', async () => {
  const { first, second, promote } = replicas
  const node = await world.start()
  const load = runKeyedLoad(10, 'vanished', () => node)
  await expect.poll(deliveries).toBeGreaterThan(20)
  first.proxy.onMessage = () => 'hang'
  // A promotion follows the failure that it answers.
  await letRun(2_000)
  await promote(second)
  await expectServed(node, 'reachable')
  first.proxy.onMessage = () => undefined
  await load.stop()
  const other = await world.start()
  await expectServed(other, 'two-primaries')
  expect(await world.verdict()).toEqual([])
})

test('while the only synchronous standby is away no mail goes out and no send is answered, and sends go on when it is back', async () => {
  const { second } = replicas
  const node = await world.start()
  const load = runKeyedLoad(10, 'alone', () => node)
  await expect.poll(deliveries).toBeGreaterThan(20)
  await second.stop()
  const counts = () => tally(world.logs.requests)
  await expect.poll(() => counts()['500'] ?? 0).toBeGreaterThan(0)
  const { length } = world.logs.mail.dots
  const before = deliveries()
  await quietFor(3_000)
  expect(world.logs.mail.dots).toHaveLength(length)
  expect(deliveries()).toBe(before)
  expect(await node.client.get('/readyz')).toMatchObject({ status: 503, body: { checks: { database: 'failing' } } })
  await second.start()
  await expect.poll(deliveries).toBeGreaterThan(before + 20)
  await load.stop()
  expect(await world.verdict()).toEqual([])
})

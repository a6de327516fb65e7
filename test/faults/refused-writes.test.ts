import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { databaseAt } from '../harness/template.ts'
import { letArrive, quietFor } from '../harness/waits.ts'
import { startCluster, startServer } from './cluster.ts'
import { runKeyedLoad } from './keyed-load.ts'
import { tally } from './load.ts'
import { change } from './replicas.ts'
import { mountSmallDisk } from './small-disk.ts'
import { endpointOf, startWebhookWorld, type WebhookWorld } from './webhooks/world.ts'

let run: WebhookWorld

/** A database whose tables are on their own disk. The write-ahead log has room. */
async function startOnSmallDisk() {
  const server = await startServer()
  const disk = await mountSmallDisk(96, join(server.dataDir, 'postgres'))
  await change(server, `create tablespace small location '${disk.folder}'`)
  await change(server, 'create database small tablespace small')
  const url = databaseAt(server.url, 'small')
  await applyMigrations(url)
  const db = connect(url)
  const drop = async () => {
    await db.$client.end({ timeout: 1 })
    await server.drop()
    await disk.unmount()
  }
  return { disk, database: { url, db, drop } }
}

/**
 * Refuses writes under load for a while. Expects that readiness names the reason within five seconds, that no mail goes
 * out meanwhile, and that everything goes on by itself and reconciles.
 */
async function refuseWrites(word: string, begin: () => Promise<unknown>, end: () => Promise<unknown>) {
  const hook = await run.openHook()
  const node = await run.start({ SEND_BUDGET_MS: '20000' })
  await endpointOf(run, run.account.id).put(node.client, hook.url)
  await run.work()
  const counts = () => tally(run.logs.requests)
  const load = runKeyedLoad(20, word, () => node)
  await expect.poll(() => counts().delivered ?? 0).toBeGreaterThan(50)
  await begin()
  await expect.poll(() => counts()['500'] ?? 0).toBeGreaterThan(0)
  const failedMs = performance.now()
  const readiness = () => node.client.get('/readyz')
  await expect.poll(readiness).toMatchObject({ status: 503, body: { checks: { database: word } } })
  console.log(`readiness fails ${Math.round(performance.now() - failedMs)} ms after the first response of 500`)
  // Readiness asks the database once a second.
  expect(performance.now() - failedMs).toBeLessThan(5_000)
  await letArrive(1_000)
  const dots = run.logs.mail.dots.length
  await quietFor(3_000)
  // All callers may be waiting for the keys of sends that had begun before.
  const meanwhile = { request: 'meanwhile', to: ['ann.meanwhile@one.example'], text: 'All is well.' }
  expect(await node.client.send(meanwhile)).toMatchObject({ status: 500, body: { error: 'transient_failure' } })
  expect(run.logs.mail.dots).toHaveLength(dots)
  expect(await readiness()).toMatchObject({ status: 503, body: { checks: { database: word } } })
  await end()
  const delivered = counts().delivered!
  await expect.poll(() => counts().delivered).toBeGreaterThan(delivered + 50)
  await expect.poll(readiness).toMatchObject({ status: 200 })
  await load.stop()
  console.log(word, counts())
  expect(await run.verdict()).toEqual([])
  const states = run.logs.database.at(-1)!.webhooks!.dispatches.map(({ state }) => state)
  expect(new Set(states)).toEqual(new Set(['acknowledged']))
}

test('no send passes its marker while the disk of the database is full, and everything goes on when there is room', async () => {
  const { disk, database } = await startOnSmallDisk()
  run = await startWebhookWorld({ database })
  await refuseWrites('disk_full', disk.fill, disk.free)
})

test('no send passes its marker while the database is read-only, and everything goes on when it takes writes', async () => {
  const cluster = await startCluster()
  run = await startWebhookWorld({ database: cluster })
  const setReadOnly = (value: string) => change(cluster, `alter system set default_transaction_read_only = ${value}`)
  await refuseWrites(
    'read_only',
    () => setReadOnly('on'),
    () => setReadOnly('off'),
  )
})

import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startCluster } from './cluster.ts'
import { letters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import { PAUSES } from './pause.ts'
import { diceFor } from './seed.ts'
import { startWorld, type World } from './world.ts'

type Cluster = Awaited<ReturnType<typeof startCluster>>

let cluster: Cluster
let world: World
beforeEach(async () => {
  cluster = await startCluster()
  world = await startWorld({ database: cluster })
})
afterEach(() => world.stop())

/** How often the callers were told 500 since the suffering began. */
type Failures = () => number

/**
 * 30 callers send while the database suffers. Then it is well again, and so must everything be. The suffering begins when sends are
 * delivered, and a test ends it when callers were told of it: how soon that is depends on the machine.
 */
async function suffer(purpose: string, suffering: (cluster: Cluster, failures: Failures) => Promise<void>) {
  const node = await world.start()
  const load = runLoad(30, letters(purpose, 20_000, diceFor(purpose)), () => node)
  const count = (status: string) => tally(load.entries)[status] ?? 0
  await expect.poll(() => count('delivered')).toBeGreaterThan(10)
  await suffering(cluster, () => count('500'))
  const before = count('delivered')
  await expect.poll(() => count('delivered')).toBeGreaterThan(before + 20)
  const counts = tally(await load.stop())
  console.log(purpose, counts)
  expect(world.logs.processes.filter(({ event }) => event === 'ended')).toEqual([])
  expect(counts.delivered).toBeGreaterThan(30)
  expect(counts[500] ?? 0).toBeGreaterThan(0)
  const [afterwards] = letters(`${purpose}-afterwards`, 1, diceFor(purpose))
  expect(await node.client.send(afterwards!)).toMatchObject({ status: 200 })
  expect(await world.verdict()).toEqual([])
}

test('Postgres is killed under load, again while it recovers, and started: everything reconciles', async () => {
  await suffer('killed', async ({ kill, start }, failures) => {
    await kill()
    await start()
    await sleep(300)
    await kill()
    await expect.poll(failures).toBeGreaterThan(0)
    await start()
  })
})

test('Postgres is restarted under load: everything reconciles', async () => {
  await suffer('restarted', async ({ stop, start }, failures) => {
    await stop()
    await expect.poll(failures).toBeGreaterThan(0)
    await start()
  })
})

test('all sessions are ended under load, ten times: everything reconciles', async () => {
  await suffer('ended', async (_, failures) => {
    for (let i = 0; i < 10 || (i < 100 && failures() === 0); i++) {
      await world.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'verdict'`
      await sleep(200)
    }
  })
})

test('connections to the database are reset at any of their messages, from the first: everything reconciles', async () => {
  const dice = diceFor('resets')
  await suffer('resets', async (_, failures) => {
    const [node] = world.nodes
    node!.wire.onEvent = ({ place }) => (place === 'postgres' && dice.chance(0.04) ? 'reset' : undefined)
    await sleep(6_000)
    await expect.poll(failures).toBeGreaterThan(0)
    node!.wire.onEvent = () => undefined
  })
})

test('away for longer than a lease after the marker: no answer rather than a 500, and the sweeper settles', async () => {
  const { front } = cluster
  const { target } = front
  const node = await world.start({ SEND_BUDGET_MS: '20000' })
  const gone = new Promise<void>((resolve) => {
    node.wire.onEvent = (event) => {
      if (!PAUSES.after.is(event)) return undefined
      front.target = undefined
      front.reset()
      resolve()
      return undefined
    }
  })
  const sent = node.client.send({ request: 'away', to: ['ann.away@one.example'], text: 'All is well.' })
  await gone
  const others = await runLoad(5, letters('away-others', 20, diceFor('away')), () => node).ended
  expect(tally(others)).toEqual({ 500: 20 })
  const { lost, sentAtMs, endedAtMs } = await sent
  front.target = target
  expect(lost).toBeDefined()
  expect(endedAtMs! - sentAtMs).toBeLessThan(35_000)
  expect(world.logs.mail.dots.map(({ request }) => request)).toEqual(['away'])
  expect(await world.verdict()).toEqual([])
  const [settled] = world.logs.database.at(-1)!.recipients
  expect(settled).toMatchObject({ email: 'ann.away@one.example', inDoubt: true })
})

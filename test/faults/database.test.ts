import { beforeEach, expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { letRun } from '../harness/waits.ts'
import { startCluster } from './cluster.ts'
import { letters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import { PAUSES } from './pause.ts'
import { diceFor } from './seed.ts'
import { startFaultWorld, type World } from './world.ts'

type Cluster = Awaited<ReturnType<typeof startCluster>>

let cluster: Cluster
let world: World
beforeEach(async () => {
  cluster = await startCluster()
  world = untilEnd(await startFaultWorld({ database: cluster }))
})

/** The number of responses of 500 since the fault began. */
type Failures = () => number

/**
 * Runs a database fault under the load of some callers, and expects that everything recovers. The fault begins when
 * sends are delivered. Each test ends it when callers got responses of 500: how soon that is depends on the machine.
 */
async function underLoad(
  purpose: string,
  fault: (cluster: Cluster, failures: Failures) => Promise<void>,
  callers = 30,
): Promise<number> {
  const node = await world.start()
  const load = runLoad(callers, letters(purpose, 20_000, diceFor(purpose)), () => node)
  const count = (status: string) => tally(load.entries)[status] ?? 0
  await expect.poll(() => count('delivered')).toBeGreaterThan(10)
  await fault(cluster, () => count('500'))
  const before = count('delivered')
  await expect.poll(() => count('delivered')).toBeGreaterThan(before + 20)
  const counts = tally(await load.stop())
  console.log(purpose, counts)
  expect(world.logs.processes.filter(({ event }) => event === 'ended')).toEqual([])
  expect(counts.delivered).toBeGreaterThan(30)
  const [afterwards] = letters(`${purpose}-afterwards`, 1, diceFor(purpose))
  expect(await node.client.send(afterwards!)).toMatchObject({ status: 200 })
  expect(await world.verdict()).toEqual([])
  return counts[500] ?? 0
}

test('everything reconciles after Postgres is killed under load and killed again while it recovers', async () => {
  await underLoad('killed', async ({ kill, start }, failures) => {
    await kill()
    await start()
    await letRun(300)
    await kill()
    await expect.poll(failures).toBeGreaterThan(0)
    await start()
  })
})

test('everything reconciles after Postgres is restarted under load', async () => {
  await underLoad('restarted', async ({ stop, start }, failures) => {
    await stop()
    await expect.poll(failures).toBeGreaterThan(0)
    await start()
  })
})

test('no send fails and everything reconciles when all database sessions are ended ten times under load', async () => {
  const failures = await underLoad('ended', async () => {
    for (let i = 0; i < 10; i++) {
      await world.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'verdict%'`
      await letRun(1_000)
    }
  })
  expect(failures).toBe(0)
})

/** How a database moves: how it is lost, what new connections get meanwhile, and for how long. */
const moves = [1, 2, 3].map((number) => {
  const dice = diceFor(`move ${number}`)
  return {
    how: dice.pick(['resets connections', 'is killed', 'shuts down'] as const),
    // A start takes up to two of the twelve seconds.
    awayMs: dice.between(300, 10_000),
    callers: dice.pick([1, 5, 30, 60]),
  }
})

test.each(moves)(
  'no send fails and everything reconciles when the database $how and is away for $awayMs ms under the load of $callers callers',
  async ({ how, awayMs, callers }) => {
    const failures = await underLoad(
      `moved-${awayMs}`,
      async ({ proxy, kill, stop, start }) => {
        const { target } = proxy
        if (how === 'resets connections') {
          proxy.target = undefined
          proxy.reset()
        } else await (how === 'is killed' ? kill() : stop())
        await letRun(awayMs)
        if (how === 'resets connections') proxy.target = target
        else await start()
      },
      callers,
    )
    expect(failures).toBe(0)
  },
)

test('everything reconciles when database connections are reset at random messages, the first one included', async () => {
  const dice = diceFor('resets')
  await underLoad('resets', async () => {
    const [node] = world.nodes
    node!.wire.onEvent = ({ place }) => (place === 'postgres' && dice.chance(0.04) ? 'reset' : undefined)
    await letRun(6_000)
    node!.wire.onEvent = () => undefined
  })
})

test('a send gets no response, rather than a 500, when the database is away for longer than the lease after the marker, and its outcome is stored afterwards', async () => {
  const { proxy } = cluster
  const { target } = proxy
  const node = await world.start({ SEND_BUDGET_MS: '20000' })
  const outage = new Promise<void>((resolve) => {
    node.wire.onEvent = (event) => {
      if (!PAUSES.after.is(event)) return undefined
      proxy.target = undefined
      proxy.reset()
      resolve()
      return undefined
    }
  })
  const send = node.client.send({ request: 'away', to: ['ann.away@one.example'], text: 'All is well.' })
  await outage
  const otherSends = await runLoad(5, letters('away-others', 20, diceFor('away')), () => node).ended
  expect(tally(otherSends)).toEqual({ 500: 20 })
  const { lost, sentAtMs, endedAtMs } = await send
  proxy.target = target
  expect(lost).toBeDefined()
  // The budget of a send is 30 s. Its caller is cut off when it is over.
  expect(endedAtMs! - sentAtMs).toBeLessThan(35_000)
  expect(world.logs.mail.dots.map(({ request }) => request)).toEqual(['away'])
  expect(await world.verdict()).toEqual([])
  const [settledRecipient] = world.logs.database.at(-1)!.recipients
  expect(settledRecipient).toMatchObject({ email: 'ann.away@one.example', status: 'delivered', inDoubt: false })
})

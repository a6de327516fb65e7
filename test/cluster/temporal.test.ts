import { afterAll, beforeAll, expect, test } from 'vitest'
import { letRun } from '../harness/waits.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { SERVICES, startTemporalCluster, type TemporalService } from './temporal.ts'
import { startTemporalScenario, type TemporalScenario } from './temporal-scenario.ts'

// Temporal's services on two of the three machines with PostgreSQL, and what can happen to them. Events fail at first,
// so that all of their later attempts depend on Temporal.

/** How long a service is away. */
const AWAY_MS = 20_000

let cluster: Cluster
let scenario: TemporalScenario
beforeAll(async () => {
  cluster = await startCluster()
  const [first, second] = cluster.databases
  const temporal = await startTemporalCluster({
    places: [first!, second!],
    proxy: cluster.proxy,
    database: cluster.temporalDatabase,
  })
  scenario = await startTemporalScenario(temporal, cluster.database)
})
afterAll(() => scenario?.stop() ?? cluster?.database.drop())

/** Expects that no send failed because of the database. */
const noneFailed = (sends: Record<string, number>) =>
  expect(Object.keys(sends).filter((outcome) => /^\d+$|lost|in_doubt/.test(outcome))).toEqual([])

async function expectNothingLost(): Promise<void> {
  expect(await scenario.verdict()).toEqual([])
}

test.each(SERVICES)('while one of two %s services is killed, retries go on with the other', async (name) => {
  const service = scenario.temporal.of(name, 0)
  const seen = await scenario.underLoad(`${name} killed`, async () => {
    service.signal('SIGKILL')
    await letRun(AWAY_MS)
    await service.start()
  })
  noneFailed(seen.sends)
  expect(seen.longestPauseMs).toBeLessThan(AWAY_MS)
  await expectNothingLost()
})

test.each(SERVICES)('while one of two %s services is frozen, retries go on with the other', async (name) => {
  const service = scenario.temporal.of(name, 1)
  const seen = await scenario.underLoad(`${name} frozen`, async () => {
    service.signal('SIGSTOP')
    await letRun(AWAY_MS)
    service.signal('SIGCONT')
  })
  noneFailed(seen.sends)
  expect(seen.longestPauseMs).toBeLessThan(AWAY_MS)
  await expectNothingLost()
})

test('a rolling restart of all services stops no retry for long', async () => {
  const seen = await scenario.underLoad('rolling restart', async () => {
    for (const service of scenario.temporal.services) await restart(service)
  })
  noneFailed(seen.sends)
  await expectNothingLost()
})

async function restart(service: TemporalService): Promise<void> {
  await service.stop()
  await service.start()
  // The others notice that it is back.
  await letRun(5_000)
}

test('a planned switchover of the database fails no send, and retries go on after it', async () => {
  const seen = await scenario.underLoad('database switched over', async () => {
    await cluster.switchOver(await cluster.leader())
    await cluster.whole()
  })
  noneFailed(seen.sends)
  await expectNothingLost()
})

test('after PostgreSQL of the leader is killed, retries go on', async () => {
  await scenario.underLoad('PostgreSQL killed', async () => {
    await (await cluster.leader()).killPostgres()
    await cluster.whole()
  })
  await expectNothingLost()
})

test('after a machine is killed that leads the database and runs half of Temporal, retries go on with the other two', async () => {
  const [lost] = cluster.databases
  const leader = await cluster.leader()
  if (leader.name !== lost!.name) await cluster.switchOver(leader, lost)
  await cluster.whole()
  await scenario.underLoad('machine killed', async () => {
    await lost!.signal('SIGKILL')
    await cluster.promotedBeside(lost!)
    await letRun(AWAY_MS)
  })
  await lost!.startAgain()
  await cluster.whole()
  for (const { place, start } of scenario.temporal.services) if (place === lost) await start()
  await expectNothingLost()
})

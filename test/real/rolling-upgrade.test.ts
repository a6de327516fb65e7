import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../faults/client.ts'
import { letters } from '../faults/letters.ts'
import { diceFor } from '../faults/seed.ts'
import { recipientOf } from '../faults/webhooks/receivers.ts'
import { endpointOf, startWebhookWorld, type WebhookWorld } from '../faults/webhooks/world.ts'
import { testDatabase } from '../harness/postgres.ts'
import { untilEnd } from '../harness/until-end.ts'
import { type Stop, startFleet } from './fleet.ts'
import { type Failure, startMixedLoad } from './mixed-load.ts'
import { type Nginx, startNginx } from './nginx.ts'
import { releaseBeside, runMigrations } from './previous-release.ts'
import { workflowTasks } from './workflow-tasks.ts'

const RESTARTS = 25
const REQUESTS_PER_SECOND = 50
/** The delays of retries: some dispatches wait until a worker of the other release makes their next attempt. */
const SCHEDULE_MS = [0, 1_000, 4_000, 4_000]

test('no request fails over REST or gRPC, and every statement holds, while the release beside this one and this one take turns behind nginx on one database, which is migrated under load', async () => {
  const previous = await releaseBeside()
  onTestFinished(previous.remove)
  const database = await testDatabase('template1')
  await previous.migrate(database.url)
  const run = await startWebhookWorld({
    scheduleMs: SCHEDULE_MS,
    database,
    openAccount: (_, keys, domain) => previous.openAccount(database.url, keys, domain),
  })
  const fleet = untilEnd(await startFleet(run, previous.root))
  const nginx = untilEnd(await startNginx(fleet.ports))
  await openEndpoint(run, nginx)

  const load = startMixedLoad({
    urls: nginx,
    key: run.account.key,
    requestsPerSecond: REQUESTS_PER_SECOND,
    letters: letters('upgrade', 100_000, diceFor('upgrade')),
    log: run.logs.requests,
  })
  // The order of docs/upgrading.md: the database, the worker, the API.
  await runMigrations(database.url)
  await fleet.startWorker('current')
  for (let restart = 1; restart <= RESTARTS; restart++) {
    await fleet.restartApi()
    if (restart % 3 === 0) await fleet.restartWorker()
  }
  const { failures, ...counts } = await load.stop()
  console.log({ ...counts, sends: run.logs.requests.length, posts: run.posts().length }, timesOf(fleet.stops))
  expect(
    failures.map((failure) => ({ ...failure, stopping: stoppingAt(failure, fleet.stops) })),
    faultsOf(nginx),
  ).toEqual([])
  expect(Math.min(counts.rest, counts.grpc)).toBeGreaterThan(RESTARTS * 10)
  expect(counts.repeats).toBeGreaterThan(RESTARTS)
  expect(await run.verdict()).toEqual([])

  const tasks = await workflowTasks(run.temporal.address, (pid) => fleet.releaseOf.get(pid))
  console.log(tasks)
  expect(tasks.failed).toBe(0)
  expect(tasks.continuedBy.current).toBeGreaterThan(0)
  expect(tasks.continuedBy.previous).toBeGreaterThan(0)
}, 1_200_000)

/** Registers an endpoint at which the first three attempts of one event in ten fail. */
async function openEndpoint(run: WebhookWorld, { url }: Nginx): Promise<void> {
  const isSlow = (recipient: string) => recipient.includes('7@')
  const hook = await run.openHook((post, attempt) => ({ status: attempt < 4 && isSlow(recipientOf(post)) ? 503 : 200 }))
  const client = createClient({ node: 'nginx', url, key: run.account.key }, [])
  await endpointOf(run, run.account.id).put(client, hook.url)
  client.close()
}

/** The release of the process that was stopping when a call failed. */
function stoppingAt({ endedAtMs }: Failure, stops: Stop[]): Stop['release'] | undefined {
  return stops.find(({ fromMs, toMs }) => fromMs < endedAtMs && endedAtMs < toMs + 1_000)?.release
}

/** What nginx logged, without the refusals of processes that have stopped, after which it tries the other one. */
function faultsOf(nginx: Nginx): string {
  const lines = nginx.log().split('\n')
  return lines.filter((line) => !line.includes('Connection refused')).join('\n')
}

/** The longest stop of each release, in milliseconds. */
const timesOf = (stops: Stop[]) =>
  Object.fromEntries(
    (['previous', 'current'] as const).map((name) => {
      const times = stops.filter(({ release }) => release === name).map(({ fromMs, toMs }) => Math.round(toMs - fromMs))
      return [name, { stops: times.length, longestMs: Math.max(...times) }]
    }),
  )

import postgres from 'postgres'
import type { Delivery, Engine } from '../../mail/smtp/attempt.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { connect } from '../../server/db/connect.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { readStatistics } from '../../server/reputation/statistics.ts'
import { type Client, createClient } from '../../test/faults/client.ts'
import { loggedScript } from '../../test/faults/mail-servers.ts'
import { endLeases, openRows, takeSnapshot } from '../../test/faults/snapshot.ts'
import { startProxy } from '../../test/harness/proxy.ts'
import { databaseAt, makeTemplate } from '../../test/harness/template.ts'
import { startThrowaway } from '../../test/harness/throwaway.ts'
import { pauseFor, within } from '../../test/harness/waits.ts'
import type { Logs } from '../../test/reliability/logs.ts'
import { startSendingWorld } from '../../test/sending/world.ts'
import { startApi } from '../../test/services/api.ts'
import { countWrites, loseStatements, refuseWrites, scriptOf } from './faults.ts'
import { DOMAINS, type Plan } from './plan.ts'

/** A short one: a silent server takes as long. */
const SEND_BUDGET_MS = 500
/** A call that takes longer waits for a lease, which is then ended. */
const PATIENCE_MS = 2_500
const SETTLES_WITHIN_MS = 10_000
const TABLES = [
  ...['messages', 'recipients', 'events', 'open_messages', 'open_recipients', 'idempotency_keys', 'suppressions'],
  ...['refusals', 'hourly_stats', 'minute_stats', 'group_stats', 'open_stats'],
]
const LIMITS = { ...DEFAULT_LIMITS, warmUp: [], breaker: { ...DEFAULT_LIMITS.breaker, minEmails: 1_000_000 } }

const mx = (domain: string) => ({
  [`MX ${domain}`]: [
    { type: 'MX' as const, name: domain, ttl: 300, data: { preference: 10, exchange: `mx.${domain}` } },
  ],
  [`A mx.${domain}`]: [{ type: 'A' as const, name: `mx.${domain}`, ttl: 300, data: '127.0.0.1' }],
  [`AAAA mx.${domain}`]: 'nodata' as const,
})

/**
 * The API with a PostgreSQL of its own, behind a proxy that loses statements, a mail exchanger with a script, and a
 * second process that sweeps. `run` returns what a plan left behind.
 */
export async function startPlanWorld() {
  const server = await startThrowaway()
  const { name } = await makeTemplate(server.url)
  const url = databaseAt(server.url, name)
  const { hostname, port } = new URL(url)
  const proxy = await startProxy({ host: hostname, port: Number(port) })
  const proxied = new URL(url)
  proxied.port = String(proxy.port)
  const sql = postgres(url, { max: 4, onnotice: () => {} })
  await countWrites(sql)
  const sweeper = connect(url, { connections: 2 })
  const db = connect(proxied.href)
  const world = await startSendingWorld({ ...mx('example.net'), ...mx('example.org') }, { url: proxied.href, db })
  const engine = createPlansEngine(world.engineWith())
  const breaker = createBreaker({ db, limits: LIMITS })
  const api = await startApi(undefined, LIMITS, {
    world,
    engine,
    breaker,
    sendBudgetMs: SEND_BUDGET_MS,
  })
  const lose = loseStatements(proxy)
  let plansRun = 0

  /** Resolves when no send runs, also of callers that have left. */
  async function over(): Promise<void> {
    await api.idle()
    while (api.app.inFlight.size + db.load.sends + engine.deliveries() > 0) await pauseFor(2)
  }

  /** No caller waits any more: what is open waits for its lease and a sweep. */
  async function settle(requests: string[]): Promise<void> {
    await over()
    const untilMs = performance.now() + SETTLES_WITHIN_MS
    while ((await openRows(sql)).length > 0 && performance.now() < untilMs) {
      await endLeases(sql, { requests })
      await sweep(sweeper)
    }
  }

  async function run(plan: Plan) {
    const logs: Logs = { requests: [], mail: { rcptAddresses: [], dots: [] }, database: [], processes: [] }
    await sql.unsafe(TABLES.map((table) => `delete from ${table}`).join(';'))
    engine.use(world.engineWith({ limits: { dotShareAtMost: 0.5 } }))
    world.exchanger.delayMs = plan.serverDelayMs
    world.exchanger.script = loggedScript(world.exchanger, logs.mail, scriptOf(plan.server))
    const client = createClient({ node: 'api', url: api.url, key: api.keys.live }, logs.requests)
    const letters = lettersOf(plan, ++plansRun)
    const requests = letters.map(({ request }) => request)
    try {
      lose(plan.statements)
      await refuseWrites(sql, plan.writes)
      const beside = Promise.allSettled([
        ...(plan.leasesEndMs === null ? [] : [after(plan.leasesEndMs, () => endLeases(sql, { requests }))]),
        ...plan.sweepsMs.map((ms) => after(ms, () => sweep(sweeper))),
      ])
      const calls = Promise.all(
        plan.calls.map(({ atMs, leavesAfterMs }, i) => {
          return after(atMs, () => client.send(letters[i]!, leavesAfterMs ?? undefined))
        }),
      )
      await endLeasesUntil(calls, requests)
      await beside
      lose([])
      await refuseWrites(sql, [])
      await settle(requests)
      await repeat(letters, client)
      await settle(requests)
      logs.database.push(await takeSnapshot(sql))
      return { logs, statistics: await statistics() }
    } finally {
      client.close()
      engine.close()
    }
  }

  async function endLeasesUntil(calls: Promise<unknown>, requests: string[]): Promise<void> {
    while ((await within(PATIENCE_MS, calls, 'late')) === 'late') await endLeases(sql, { requests })
  }

  /** The account's statistics, by the hour and by the minute. */
  async function statistics() {
    const HOUR_MS = 3_600_000
    const to = (Math.floor(Date.now() / HOUR_MS) + 1) * HOUR_MS
    const range = { accountId: world.account.id, from: to - 2 * HOUR_MS, to }
    return Promise.all([HOUR_MS, 60_000].map((stepMs) => readStatistics(sweeper, { ...range, stepMs })))
  }

  async function stop(): Promise<void> {
    await api.stop()
    await world.stop()
    await Promise.all([
      ...[db.$client, sweeper.$client, sql].map((client) => client.end({ timeout: 1 })),
      proxy.close(),
    ])
    await server.stop()
  }
  return { run, stop }
}

/** The engine of the plan that runs. `use` sets that of the next plan. */
function createPlansEngine(first: Engine) {
  let engine = first
  let deliveries = 0
  return {
    lookUp: (...asked: Parameters<Engine['lookUp']>) => engine.lookUp(...asked),
    deliver(delivery: Delivery) {
      deliveries++
      return engine.deliver(delivery).finally(() => deliveries--)
    },
    close: () => engine.close(),
    deliveries: () => deliveries,
    use(next: Engine): void {
      engine = next
    },
  }
}

type Letter = Parameters<Client['send']>[0]

/** The first letter of each key once more, without faults. */
async function repeat(letters: Letter[], client: Client): Promise<void> {
  const firsts = letters.filter(({ key }, i) => key && letters.findIndex((other) => other.key === key) === i)
  await Promise.all(firsts.map((letter) => client.send(letter)))
}

/** The letter of each call. Letters with one key have the same addresses, and other letters have their own. */
function lettersOf({ letters, calls }: Plan, n: number): Letter[] {
  return calls.map((call, i) => {
    const index = call.letter % letters.length
    const { key, to } = letters[index]!
    const group = key === null ? `${n}-call${i}` : `${n}-key${key}`
    return {
      request: key === null ? group : `${group}-content${index}`,
      to: to.map((recipient) => `${recipient}.${group}@${DOMAINS[recipient]}`),
      text: 'Hello',
      ...(key === null ? {} : { key: group }),
    }
  })
}

const after = async <T>(ms: number, work: () => Promise<T>): Promise<T> => {
  await pauseFor(ms)
  return work()
}

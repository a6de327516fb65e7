import { expect } from 'vitest'
import { sendUntilOk } from '../faults/duplicates.ts'
import { letters } from '../faults/letters.ts'
import { tally } from '../faults/load.ts'
import type { Node } from '../faults/node.ts'
import { diceFor } from '../faults/seed.ts'
import { startFaultWorld, type World } from '../faults/world.ts'
import { pauseFor } from '../harness/waits.ts'
import type { ClientEntry } from '../reliability/logs.ts'
import { type Cluster, type DatabaseMachine, startCluster } from './cluster.ts'

/** The promise: sends are served again within this time of the promotion. */
const SERVED_MS = 5_000
const CALLERS = 4
/** The pause of a caller between two letters: the reconciler reads all of them again. */
const PAUSE_MS = 150

export interface Scenario {
  cluster: Cluster
  world: World
  /**
   * Runs `fault` under load of two API processes until `end` resolves: by default, until the cluster is whole. One
   * process, `proxied`, reaches PostgreSQL through HAProxy; the DATABASE_URL of the other, `direct`, names the three
   * servers. Returns what the callers saw.
   */
  underLoad(name: string, fault: Step, end?: Step): Promise<Seen>
  stop(): Promise<void>
}

/** The start or the end of a fault. Sends must be served again after its end. */
type Step = (leader: DatabaseMachine) => Promise<void>

export interface Seen {
  /** From the fault until another machine took writes. Undefined when none did. */
  promotedMs?: number
  /** From the promotion to the first send that each process served. */
  servedMs: Record<string, number>
  /** The longest time without a served send of each process, since the fault. */
  longestGapMs: Record<string, number>
  /** The sends of each process since the fault whose first response was no outcome of the recipient's server. */
  failures: Record<string, number>
  /** The responses of each process since the fault. */
  responses: Record<string, Record<string, number>>
}

/** Starts the cluster and two API processes. */
export async function startScenario(): Promise<Scenario> {
  const cluster = await startCluster()
  // The shortest budget, and so the shortest leases: callers wait for those of sends that the failure cut off.
  const world = await startFaultWorld({ database: cluster.database, env: { SEND_BUDGET_MS: '20000' } })
  const direct = new URL(cluster.url)
  const places = cluster.databases.map(({ address }) => `${address}:5432`).join(',')
  const directUrl = cluster.url.replace(direct.host, places)
  const nodes = { proxied: await world.start(), direct: await world.start({ DATABASE_URL: directUrl }) }
  let names = 0

  async function underLoad(name: string, fault: Step, end: Step = cluster.whole): Promise<Seen> {
    const number = ++names
    const begun = world.logs.requests.length
    const all = Object.entries(nodes)
    const load = (purpose: string, node: Node) => runCallers(`${number}-${purpose}`, node)
    const loads = all.map(([which, node]) => load(which, node))
    const deliveredSince = (node: Node, ms: number) =>
      world.logs.requests
        .slice(begun)
        .filter((entry) => entry.node === node.name && entry.sentAtMs > ms && isServed(entry))
    for (const [, node] of all) await expect.poll(() => deliveredSince(node, 0).length).toBeGreaterThan(20)

    const leader = await cluster.leader()
    const faultMs = performance.now()
    const promotion = watchForPromotion(cluster, leader)
    const promoted = promotion.then((promotedMs) => {
      // The callers so far may all be waiting for the keys of sends that the failure cut off.
      if (promotedMs !== undefined) loads.push(...all.map(([which, node]) => load(`${which}-afterwards`, node)))
      return promotedMs
    })
    try {
      await fault(leader)
      await end(leader)
      const endMs = performance.now()
      for (const [, node] of all) await expect.poll(() => deliveredSince(node, endMs).length).toBeGreaterThan(20)
    } finally {
      promotion.stop()
      await promoted
      for (const each of loads) await each.stop()
    }
    const promotedMs = await promoted

    const since = (node: Node) =>
      world.logs.requests.slice(begun).filter((entry) => entry.node === node.name && entry.endedAtMs! > faultMs)
    const perNode = <T>(value: (node: Node) => T) =>
      Object.fromEntries(all.map(([which, node]) => [which, value(node)])) as Record<string, T>
    const seen: Seen = {
      ...(promotedMs ? { promotedMs: Math.round(promotedMs - faultMs) } : {}),
      servedMs: promotedMs
        ? perNode((node) =>
            Math.round(Math.min(...deliveredSince(node, promotedMs).map((entry) => entry.endedAtMs!)) - promotedMs),
          )
        : {},
      longestGapMs: perNode((node) => longestGap(faultMs, since(node))),
      failures: perNode((node) => since(node).filter(isFailure).length),
      responses: perNode((node) => tally(since(node))),
    }
    console.log(name, JSON.stringify(seen))
    // The promised time.
    for (const ms of Object.values(seen.servedMs)) expect(ms).toBeLessThan(SERVED_MS)
    return seen
  }

  return { cluster, world, underLoad, stop: () => world.stop() }
}

/** Lets another machine lead, as an operator does, and expects that no send fails. */
export async function expectSwitchover({ cluster, underLoad }: Scenario): Promise<void> {
  const { promotedMs, failures } = await underLoad('switchover', (leader) => cluster.switchOver(leader))
  expect(promotedMs).toBeDefined()
  expect(failures).toEqual({ proxied: 0, direct: 0 })
}

/** Runs callers that send letters with keys, each until the response is 200. */
function runCallers(purpose: string, node: Node) {
  const remaining = letters(purpose, 10_000, diceFor(purpose))[Symbol.iterator]()
  let isRunning = true
  const call = async () => {
    for (; isRunning; await pauseFor(PAUSE_MS)) {
      const { value } = remaining.next()
      await sendUntilOk({ ...value!, key: `key ${value!.request}` }, () => node)
    }
  }
  const calls = Promise.all(Array.from({ length: CALLERS }, call))
  return {
    stop: () => {
      isRunning = false
      return calls
    },
  }
}

const isServed = ({ status, body }: ClientEntry) =>
  status === 200 && (body as { status: string }).status === 'delivered'

/** No outcome, or one that the recipient's server did not give. The load also has recipients that are refused. */
const isFailure = ({ status, body }: ClientEntry) =>
  status !== 200 || JSON.stringify(body).includes('temporary_failure')

function longestGap(fromMs: number, entries: ClientEntry[]): number {
  const times = entries
    .filter(isServed)
    .map(({ endedAtMs }) => endedAtMs!)
    .sort((a, b) => a - b)
  return Math.round(Math.max(...times.map((ms, i) => ms - (times[i - 1] ?? fromMs))))
}

/** Resolves with the time at which a machine other than the leader took writes, or with nothing after `stop`. */
function watchForPromotion(cluster: Cluster, leader: DatabaseMachine) {
  let isOver = false
  const watch = async () => {
    for (; !isOver; await pauseFor(50)) if (await cluster.isPromotedBeside(leader)) return performance.now()
    return undefined
  }
  return Object.assign(watch(), {
    stop: () => {
      isOver = true
    },
  })
}

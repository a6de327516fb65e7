import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRandom, type Random } from '../dev/demo/random.ts'
import { SEED } from '../test/faults/seed.ts'
import { pauseFor } from '../test/harness/waits.ts'
import { APIS, type KillWorld } from './world.ts'

// What is killed or stopped, and how it comes back. A victim that is away is not chosen again before it is back, but
// several may be away at once.

export interface Kill {
  n: number
  what: string
  atMs: number
  /** When the victim worked again. Absent when it did not come back. */
  backMs?: number
}

export interface KillLog {
  kills: Kill[]
  /** Starts of a process that gave up, with its output. */
  failedStarts: string[]
}

/** Between two kills. */
const GAP_MS = [200, 3_000] as const
/** Before a killed process is started again. */
const AWAY_MS = [0, 2_000] as const
const STOPPED_MS = [200, 6_000] as const
/** Longer than a lease. */
const LONG_STOP_MS = 40_000
const LONG_STOPS = 0.1

/** Kills `count` times at random. Resolves when every victim is back. */
export async function killAtRandom(world: KillWorld, count: number, log: KillLog): Promise<void> {
  const random = createRandom(SEED)
  const between = ([low, high]: readonly [number, number]) => random.whole(low, high)
  const away = new Set<string>()
  const backs: Promise<void>[] = []
  const victims = victimsOf(world, random, log)

  while (log.kills.length < count) {
    await pauseFor(between(GAP_MS))
    const present = victims.filter(({ place }) => !away.has(place))
    if (present.length === 0) continue
    const victim = random.weighted(present)
    const isKill = random.share() < 0.55
    const isLong = !isKill && victim.mayStopLong && random.share() < LONG_STOPS
    const ms = isKill ? between(AWAY_MS) : isLong ? LONG_STOP_MS : between(STOPPED_MS)
    const how = isKill ? `kill -9, away for ${ms} ms` : `stopped for ${ms} ms`
    const kill: Kill = { n: log.kills.length + 1, what: `${victim.name}: ${how}`, atMs: Date.now() }
    log.kills.push(kill)
    away.add(victim.place)
    const back = (isKill ? victim.kill(ms) : stopFor(victim, ms)).then(() => {
      kill.backMs = Date.now()
      away.delete(victim.place)
    })
    backs.push(back)
  }
  await Promise.all(backs)

  async function stopFor({ pids }: Victim, ms: number): Promise<void> {
    const { webhooks } = world
    webhooks.stoppedMs = Math.max(webhooks.stoppedMs ?? 0, ms)
    const stopped = pids()
    signalAll(stopped, 'SIGSTOP')
    await pauseFor(ms)
    signalAll(stopped.toReversed(), 'SIGCONT')
  }
}

interface Victim {
  name: string
  /** One victim of a place is away at a time. */
  place: string
  weight: number
  /** Whether it may stop for longer than a lease. A start waits for the database for half a minute. */
  mayStopLong?: true
  /** Its processes, the first one first. A negative number is a process group. */
  pids(): number[]
  /** Sends SIGKILL, and starts it again after this time. Resolves when it works. */
  kill(awayMs: number): Promise<void>
}

function victimsOf(world: KillWorld, random: Random, log: KillLog): Victim[] {
  const { apis, starting, ofWorker, cluster, temporal } = world

  /** A start that gives up is a find. The run goes on with another try. */
  async function untilStarted<T>(what: string, start: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await start()
      } catch (error) {
        log.failedStarts.push(`${what} at ${new Date().toISOString()}: ${error}`)
      }
    }
  }

  const api = (name: (typeof APIS)[number]): Victim => ({
    name,
    // The other one works meanwhile.
    place: 'APIs',
    mayStopLong: true,
    weight: 3,
    pids: () => [apis[name].api.pid],
    async kill(awayMs) {
      const node = apis[name]
      node.kill()
      await node.api.ended
      node.client.close()
      await node.wire.close()
      await pauseFor(awayMs)
      apis[name] = await untilStarted(name, starting[name])
    },
  })

  const worker: Victim = {
    name: 'worker',
    place: 'worker',
    mayStopLong: true,
    weight: 2,
    pids: () => [ofWorker.current.pid],
    async kill(awayMs) {
      ofWorker.current.kill()
      await ofWorker.current.ended
      await pauseFor(awayMs)
      ofWorker.current = await untilStarted('worker', world.work)
    },
  }

  const postmaster = () =>
    Number.parseInt(readFileSync(join(cluster.dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10)
  const postgres: Victim = {
    name: 'postgres',
    place: 'postgres',
    weight: 2,
    pids: () => [postmaster(), ...childrenOf(postmaster())],
    async kill(awayMs) {
      await cluster.kill()
      await pauseFor(awayMs)
      await cluster.start()
    },
  }
  /** Or another child. PostgreSQL ends all sessions when one of them was killed, and recovers. */
  const session: Victim = {
    ...postgres,
    name: 'a process of postgres',
    weight: 1,
    pids: () => [random.one(childrenOf(postmaster()))],
    async kill() {
      signalAll([random.one(childrenOf(postmaster()))], 'SIGKILL')
      while (!(await world.sql`select 1`.catch(() => undefined))) await pauseFor(100)
    },
  }

  const temporalServer: Victim = {
    name: 'temporal',
    place: 'temporal',
    weight: 1,
    pids: () => [temporal.group()],
    async kill(awayMs) {
      await temporal.stop()
      await pauseFor(awayMs)
      await temporal.start()
    },
  }
  return [...APIS.map(api), worker, postgres, session, temporalServer]
}

/** Processes that have ended get no signal. */
function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended.
    }
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
}

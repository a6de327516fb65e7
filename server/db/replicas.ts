import { setTimeout as sleep } from 'node:timers/promises'
import { runEvery } from '../async/run-every.ts'
import { inTime } from '../async/timeout.ts'
import type { DatabaseHost } from '../config/database-url.ts'
import type { Database } from './connect.ts'
import { type Beat, beat, type Followed, follow } from './replication.ts'

/** Runs a read that may lag: on a replica that follows closely, or else on the primary. */
export type ReplicaRead = <Result>(work: (db: Database) => Promise<Result>) => Promise<Result>

/** Runs every read on one database. */
export const readOn =
  (db: Database): ReplicaRead =>
  (work) =>
    work(db)

/** Only `ok` serves reads. */
export type ReplicaState = 'ok' | 'behind' | 'other_database' | 'away'

export interface Replica {
  host: DatabaseHost
  db: Database
  state: ReplicaState
  /** By how much it is behind, to a second; undefined while it is away. */
  lagMs?: number
}

interface ReplicasParts {
  primary: Database
  replicas: { host: DatabaseHost; db: Database }[]
  /** Called with a replica whose state has changed, and once with each that is not `ok` at first. */
  onChange(replica: Replica): void
  /** Called with the server of each read. */
  onRead?(server: 'replica' | 'primary'): void
}

export interface Replicas {
  read: ReplicaRead
  all: readonly Replica[]
  /** The worst state of all. */
  state(): ReplicaState
  stop(): void
}

/** A replica that is further behind serves no reads. The looks notice it a few seconds later. */
export const MOST_LAG_MS = 10_000
const LOOK_EVERY_MS = 1_000
const LOOK_MS = 2_000
/** A replica that follows has the first beat by then. */
const SETTLE_MS = 200
/** The primary serves a read that takes longer on a replica. */
export const READ_MS = 5_000

const WORST_FIRST = ['other_database', 'away', 'behind'] as const

/**
 * Looks at the replicas every second, and gives each read to one that follows, in turn. A read that fails on a replica
 * runs again on the primary, so no read fails because of a replica.
 */
export async function watchReplicas({ primary, replicas, onChange, onRead }: ReplicasParts): Promise<Replicas> {
  const all: Replica[] = replicas.map((replica) => ({ ...replica, state: 'ok' }))
  let newest: Beat | undefined
  let turn = 0

  /** The replicas are compared with the beat of a second ago, which one that follows has by now. */
  async function look(): Promise<void> {
    await Promise.all(all.map(lookAt))
    newest = await inTime(beat(primary), LOOK_MS)
  }

  async function lookAt(replica: Replica): Promise<void> {
    const before = replica.state
    const followed = await inTime(follow(replica.db), LOOK_MS).catch(() => undefined)
    replica.lagMs = followed && newest && Math.max(0, newest.beatMs - followed.beatMs)
    replica.state = stateOf(followed, newest)
    if (replica.state !== before) onChange(replica)
  }

  newest = await beat(primary)
  await sleep(SETTLE_MS)
  await look()
  const { stop } = runEvery(LOOK_EVERY_MS, look, () => {})

  return {
    all,
    stop,
    state: () => WORST_FIRST.find((state) => all.some((replica) => replica.state === state)) ?? 'ok',
    async read(work) {
      const usable = all.filter(({ state }) => state === 'ok')
      const replica = usable[turn++ % usable.length]
      if (replica) {
        try {
          const result = await inTime(work(replica.db), READ_MS)
          onRead?.('replica')
          return result
        } catch {
          // Recovery cancels some reads, a read can be slow, and a server can end. The next look sees which it was.
        }
      }
      onRead?.('primary')
      return work(primary)
    },
  }
}

/** While the primary is away its beat stays, and so do the states of replicas. */
function stateOf(followed: Followed | undefined, newest: Beat | undefined): ReplicaState {
  if (!followed || !newest) return 'away'
  if (followed.database !== newest.database) return 'other_database'
  return newest.beatMs - followed.beatMs > MOST_LAG_MS ? 'behind' : 'ok'
}

import { inTime } from '../async/timeout.ts'
import type { Database } from './connect.ts'
import { run } from './statement.ts'

/**
 * A transaction that has written, in any database of the cluster. Streams of events wait for the oldest one: events of
 * later transactions are not shown before its end.
 */
export interface OpenTransaction {
  /** The transaction id. */
  id: string
  /** Its process of PostgreSQL; null for a prepared transaction. */
  pid: number | null
  /** The name of a prepared transaction, which has no process. */
  gid: string | null
  database: string | null
  user: string | null
  /** What the program calls itself: text from outside. */
  application: string
  /** Its age. null when the user of `db` may not see it: the transaction is of another user. */
  seconds: number | null
}

// pg_locks has the id of every transaction that has one, whoever asks. pg_stat_activity hides when it began from users
// without the role pg_read_all_stats.
const OLDEST = `
  select l.transactionid::text as id, l.pid, p.gid, coalesce(a.datname, p.database) as database,
    coalesce(a.usename, p.owner) as user, coalesce(a.application_name, '') as application,
    extract(epoch from clock_timestamp() - coalesce(a.xact_start, p.prepared))::float8 as seconds
  from pg_locks l
  left join pg_stat_activity a on a.pid = l.pid
  left join pg_prepared_xacts p on p.transaction = l.transactionid
  where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted
  order by age(l.transactionid) desc
  limit 1`

/** The oldest transaction that has written and is open; undefined without one. */
export async function readOldestTransaction(db: Database): Promise<OpenTransaction | undefined> {
  const [row] = await run<OpenTransaction>(db, OLDEST)
  return row
}

export type OldestTransaction = OpenTransaction & { seconds: number }

/**
 * Reads the oldest transaction again and again. Its age is at least the time for which this process has seen it, also
 * where its beginning is hidden.
 */
export function createTransactionWatch(db: Database): () => Promise<OldestTransaction | undefined> {
  let seen: { id: string; sinceMs: number } | undefined
  return async () => {
    const oldest = await readOldestTransaction(db)
    const nowMs = performance.now()
    if (oldest?.id !== seen?.id) seen = oldest && { id: oldest.id, sinceMs: nowMs }
    return oldest && seen && { ...oldest, seconds: oldest.seconds ?? (nowMs - seen.sinceMs) / 1_000 }
  }
}

/** Who has a transaction, such as `process 4711 of PostgreSQL`. It names no person and no database. */
export const ownerOf = ({ pid, gid }: Pick<OpenTransaction, 'pid' | 'gid'>): string =>
  pid === null ? `the prepared transaction ${JSON.stringify(gid?.slice(0, 64))}` : `process ${pid} of PostgreSQL`

/** Own transactions end within a second. This leaves room for a busy machine. */
export const HELD_SECONDS = 10

/** As long as `/readyz` waits for the database. */
const READ_MS = 3_000

/** Whether streams of events wait, as `/readyz` shows it. */
export async function streamsState(watch: () => Promise<OldestTransaction | undefined>): Promise<string> {
  const oldest = await inTime(watch(), READ_MS).catch(() => 'unknown' as const)
  if (oldest === 'unknown') return 'unknown'
  if (!oldest || oldest.seconds < HELD_SECONDS) return 'ok'
  return `held for ${Math.floor(oldest.seconds)} s by ${ownerOf(oldest)}`
}

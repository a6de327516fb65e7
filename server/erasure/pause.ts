import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/connect.ts'
import { one, run } from '../db/statement.ts'

// How long an erasure rests after a batch, relative to the time of the batch. The more other connections have been at
// work just now, the longer it leaves the processors to them.
const LEAST = 0.5
const PER_CONNECTION = 3
const MOST = 13
const MOST_MS = 60_000

// A statement of a send takes about a millisecond, so few of them run at any one moment.
const AT_WORK = `
  select count(*)::int as connections from pg_stat_activity
  where (state = 'active' or state_change > clock_timestamp() - interval '100 ms')
    and backend_type = 'client backend' and pid <> pg_backend_pid()`

export async function pauseAfter(db: Database, workMs: number): Promise<void> {
  const { connections } = one(await run<{ connections: number }>(db, AT_WORK))
  await sleep(Math.min(workMs * Math.min(LEAST + PER_CONNECTION * connections, MOST), MOST_MS))
}

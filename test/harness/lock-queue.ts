import type { Sql } from 'postgres'
import { letArrive, pauseFor } from './waits.ts'

/** How many queries like `pattern` wait for a lock of the database, 200 ms after the first one does. */
export async function countWaiting(sql: Sql, pattern: string): Promise<number> {
  const count = async (): Promise<number> => {
    const [row] = await sql`select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${pattern}`
    return row!.waiting
  }
  while ((await count()) === 0) await pauseFor(50)
  await letArrive(200)
  return count()
}

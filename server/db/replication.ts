import type { Database } from './connect.ts'
import { inMs, one, run } from './statement.ts'

// The primary beats, and a replica shows the newest beat that it has: by how much it is behind. A log position would
// say the same, but not every service that offers replicas shows one.

// A physical copy of a cluster keeps its identifier and the ids of its databases.
const DATABASE = `(select system_identifier from pg_control_system()) || ' '
    || (select oid from pg_database where datname = current_database())`

// All processes share one beat a second.
const BEAT = `
  with beat as (
    insert into primary_heartbeat (id, beat_at) values (1, clock_timestamp())
    on conflict (id) do update set beat_at = excluded.beat_at
      where primary_heartbeat.beat_at < excluded.beat_at - interval '900 milliseconds'
    returning beat_at
  )
  select ${DATABASE} as database,
    ${inMs('coalesce((select beat_at from beat), (select beat_at from primary_heartbeat where id = 1))')} as "beatMs"`

const FOLLOWED = `
  select ${DATABASE} as database, ${inMs('(select beat_at from primary_heartbeat where id = 1)')} as "beatMs",
    pg_is_in_recovery() as "isStandby"`

export interface Beat {
  /** The same on the primary and on every standby of it, and nowhere else. */
  database: string
  /** When the primary beat, in Unix milliseconds of its clock. */
  beatMs: number
}

export interface Followed extends Beat {
  isStandby: boolean
}

/** Writes to the primary, unless another process did so within a second, and returns the newest beat. */
export const beat = async (primary: Database): Promise<Beat> => one(await run<Beat>(primary, BEAT))

/** Reads the newest beat that a replica has. Rejects when it has no tables of this service. */
export async function follow(replica: Database): Promise<Followed> {
  const followed = one(await run<Followed>(replica, FOLLOWED))
  return { ...followed, beatMs: followed.beatMs ?? 0 }
}

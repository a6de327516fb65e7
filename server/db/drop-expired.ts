import { connect } from './connect.ts'
import { RETENTION_MS, STATISTICS_DAYS } from './retention.ts'
import { HISTORY } from './schema.ts'

/** A lock that is not to be had is given up, so that nobody waits in the line behind it. The next try goes on. */
const LOCK_MS = 5_000

// The name of a partition ends with its day. One that a crash left between the two steps has no parent any more.
const EXPIRED = `
  select t.parent, c.relname as name, i.inhrelid is not null as "isAttached", coalesce(i.inhdetachpending, false) as "isPending"
  from unnest($1::text[]) as t(parent)
  join pg_class c on c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname ~ ('^' || t.parent || '_[0-9]{8}$')
  left join pg_inherits i on i.inhrelid = c.oid
  where right(c.relname, 8) < to_char((clock_timestamp() - $2 * interval '1 millisecond') at time zone 'utc', 'YYYYMMDD')
  order by "isPending" desc, right(c.relname, 8), c.relname`

interface Expired {
  parent: string
  name: string
  isAttached: boolean
  /** A crash came between the two halves of its detaching. */
  isPending: boolean
}

const OLD_STATISTICS = `delete from hourly_stats where hour < clock_timestamp() - interval '${STATISTICS_DAYS} days'`

/**
 * Drops the days of history that ended more than 90 days ago, by the database's clock, and returns the names of the tables; deletes
 * statistics that are 400 days old. No writer or reader waits for it. Throws when it cannot get a lock: what was dropped until then stays
 * so, and the next call goes on.
 */
export async function dropExpired(databaseUrl: string): Promise<string[]> {
  const db = connect(databaseUrl, { connections: 1, statementMs: 0 })
  try {
    await db.$client.unsafe(`set lock_timeout = ${LOCK_MS}`)
    const expired = await db.$client.unsafe<Expired[]>(EXPIRED, [`{${Object.keys(HISTORY)}}`, RETENTION_MS])
    for (const { parent, name, isAttached, isPending } of expired) {
      if (isPending) await db.$client.unsafe(`alter table ${parent} detach partition ${name} finalize`)
      else if (isAttached) await db.$client.unsafe(`alter table ${parent} detach partition ${name} concurrently`)
      await db.$client.unsafe(`drop table ${name}`)
    }
    await db.$client.unsafe(OLD_STATISTICS)
    return expired.map(({ name }) => name)
  } finally {
    await db.$client.end({ timeout: 5 })
  }
}

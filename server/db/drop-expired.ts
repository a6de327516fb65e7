import { readDatabaseUrl } from '../config/database-url.ts'
import type { Database } from './connect.ts'
import { alterTables, type DdlSession, ddl, openDdlSession } from './ddl.ts'
import { RETENTION_MS, STATISTICS_DAYS } from './retention.ts'
import { HISTORY } from './schema.ts'
import { one, run } from './statement.ts'

// The name of a partition ends with its day. A partition that a crash left detached and not dropped has no parent.
const EXPIRED = `
  select t.parent, c.relname as name, i.inhrelid is not null as "isAttached",
    coalesce(i.inhdetachpending, false) as "isPending"
  from unnest($1::text[]) as t(parent)
  join pg_class c on c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
    and c.relname ~ ('^' || t.parent || '_[0-9]{8}$')
  left join pg_inherits i on i.inhrelid = c.oid
  where right(c.relname, 8)
    < to_char((clock_timestamp() - $2 * interval '1 millisecond') at time zone 'utc', 'YYYYMMDD')
  order by "isPending" desc, right(c.relname, 8), c.relname`

interface ExpiredPartition {
  parent: string
  name: string
  isAttached: boolean
  /** A crash came between the two halves of its detaching. */
  isPending: boolean
}

const BLOCKS = `select (pg_relation_size($1::text::regclass) / current_setting('block_size')::int)::int as blocks`
/** 8 MB of a table, whose rows are deleted in a fraction of a second. Streams of events wait for open transactions. */
const BLOCKS_PER_STEP = 1_024

/** Deletes old statistics, in the order of the table's blocks: there is no index by time. */
async function deleteStatistics(db: Database, table: string): Promise<void> {
  const { blocks } = one(await run<{ blocks: number }>(db, BLOCKS, [table]))
  const statement = `
    delete from ${table} where ctid >= $1::text::tid and ctid < $2::text::tid
      and hour < clock_timestamp() - interval '${STATISTICS_DAYS} days'`
  for (let from = 0; from < blocks; from += BLOCKS_PER_STEP)
    await run(db, statement, [`(${from},0)`, `(${from + BLOCKS_PER_STEP},0)`])
}

const OLD_URLS = `delete from webhook_urls where replaced_at < clock_timestamp() - $1 * interval '1 millisecond'`

/**
 * Drops the days of history that ended more than 90 days ago, by the database's clock, and that `mayDrop` lets go by
 * the names of their tables. Returns these names. Deletes statistics that are 400 days old, and URLs that no endpoint
 * has had for 90. No writer or reader waits for it. Throws when it cannot get a lock: what it has dropped until then
 * stays dropped, and the next call goes on.
 */
export async function dropExpired(databaseUrl: string, mayDrop = (_name: string) => true): Promise<string[]> {
  const session = openDdlSession(databaseUrl)
  const { isPooled } = readDatabaseUrl(databaseUrl)
  const { db } = session
  try {
    const old = await run<ExpiredPartition>(db, EXPIRED, [`{${Object.keys(HISTORY)}}`, RETENTION_MS])
    const expired = old.filter(({ name }) => mayDrop(name))
    for (const partition of expired) {
      if (partition.isAttached) await detach(session, partition, isPooled)
      await alterTables(db, ({ alter }) => alter(ddl`drop table ${partition.name}`))
    }
    for (const table of ['hourly_stats', 'group_stats']) await deleteStatistics(db, table)
    await run(db, OLD_URLS, [RETENTION_MS])
    return expired.map(({ name }) => name)
  } finally {
    await session.end()
  }
}

// DETACH ... CONCURRENTLY waits for readers of the parent, and no send waits behind it. A transaction cannot hold it,
// and only a transaction can limit its locks through a pooler.
async function detach(session: DdlSession, { parent, name, isPending }: ExpiredPartition, isPooled: boolean) {
  const finalize = ddl`alter table ${parent} detach partition ${name} finalize`
  const whole = ddl`alter table ${parent} detach partition ${name}`
  if (isPooled) return alterTables(session.db, ({ alter }) => alter(isPending ? finalize : whole))
  if (isPending) return session.alterAlone(finalize)
  // A wait that was given up leaves the detach pending.
  await session.alterAlone(ddl`alter table ${parent} detach partition ${name} concurrently`, finalize)
}

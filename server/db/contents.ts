import type { Database } from './connect.ts'
import { alterTables, ddl, openDdlSession } from './ddl.ts'
import { RETENTION_MS } from './retention.ts'
import { run } from './statement.ts'

const DAY_MS = 86_400_000
/** 8 MB: how much of a day is changed in one commit. */
const BLOCKS = 1_024

/** What a day is marked with when its contents are gone, as its table's comment: it is not read again. */
const MARK = 'contents removed'

const OLD_DAYS = `
  select c.relname as name, (pg_relation_size(c.oid) / current_setting('block_size')::int)::int as blocks
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'messages'::regclass and not i.inhdetachpending
    and right(c.relname, 8) < to_char((clock_timestamp() - $1 * interval '1 millisecond') at time zone 'utc', 'YYYYMMDD')
    and obj_description(c.oid, 'pg_class') is distinct from '${MARK}'
  order by c.relname`

/**
 * Removes the stored `html` and `text` of messages whose day ended more than `days` days ago. Returns the names of the
 * tables. History lets nothing else change: see the function of its triggers.
 */
export async function removeContents(databaseUrl: string, days: number): Promise<string[]> {
  // What is as old as all history is dropped with it.
  if (days * DAY_MS >= RETENTION_MS) return []
  const session = openDdlSession(databaseUrl)
  const { db } = session
  try {
    const old = await run<{ name: string; blocks: number }>(db, OLD_DAYS, [days * DAY_MS])
    for (const { name, blocks } of old) {
      for (let from = 0; from < blocks; from += BLOCKS) await removeRange(db, name, from)
      await alterTables(db, ({ alter }) => alter(ddl`comment on table ${name} is '${MARK}'`))
      // Gives the space of long contents back to the system, unless the day is locked.
      await session.alterAlone(ddl`vacuum (skip_locked) ${name}`)
    }
    return old.map(({ name }) => name)
  } finally {
    await session.end()
  }
}

async function removeRange(db: Database, name: string, from: number): Promise<void> {
  await db.$client.begin(async (tx) => {
    await run(tx, `select set_config('verdict.erasing', 'on', true)`)
    await run(
      tx,
      `update ${name} set request = (request::jsonb - 'html' - 'text')::json
       where ctid >= '(${from},0)' and ctid < '(${from + BLOCKS},0)'
         and (request -> 'html' is not null or request -> 'text' is not null)`,
    )
  })
}

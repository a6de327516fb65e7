import type { Database } from '../../server/db/connect.ts'

/**
 * All rows as text. When a key was last used is left out: it is noted for each call that the gate has admitted. So are
 * the sends that were refused.
 */
export async function everyRow(db: Database): Promise<string> {
  const sql = db.$client
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      and not relispartition and relname not in ('api_keys', 'rate_windows', 'refused_sends') order by 1`
  const rows = await Promise.all(tables.map(({ name }) => sql.unsafe(`select t::text from ${name} t order by 1`)))
  return JSON.stringify([...rows, await sql`select id, revoked_at from api_keys order by id`])
}

import type { Database } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'

/** Lets a trigger refuse all such changes of a table, with this SQLSTATE. Returns what removes it. */
export async function refuseRows(
  db: Database,
  change: 'insert on' | 'update on',
  table: string,
  code = 'P0001',
): Promise<() => Promise<void>> {
  await run(
    db,
    `create function refuse_row() returns trigger language plpgsql as $$
       begin raise 'not now' using errcode = '${code}'; end $$;
     create trigger refuse_row before ${change} ${table} for each row execute function refuse_row()`,
  )
  return async () => void (await run(db, 'drop function refuse_row cascade'))
}

import { knownMigrations } from '../../server/db/applied-migrations.ts'
import type { Database } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'

const TABLE = `
  create schema drizzle;
  create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`

/** Applies the first migrations of this version to an empty database: then an older release has migrated it. */
export async function migrateFirst(db: Database, count: number): Promise<void> {
  await db.transaction(async (tx) => {
    for (const statement of TABLE.split(';')) await run(tx, statement)
    for (const { sql, hash, folderMillis } of knownMigrations().slice(0, count)) {
      for (const statement of sql) await run(tx, statement)
      const row = 'insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)'
      await run(tx, row, [hash, folderMillis])
    }
  })
}

/** Lets a database of this version look as if a later release had migrated it, after which `oldestRelease` may run. */
export async function migrateLater(db: Database, oldestRelease: string): Promise<void> {
  const row = 'insert into drizzle.__drizzle_migrations (hash, created_at, oldest_release) values ($1, $2, $3)'
  await run(db, row, [`of ${oldestRelease}`, Date.now(), oldestRelease])
}

/** Lets a migrated database look as if a version that was never released had made it. */
export async function makeUnreleased(db: Database): Promise<void> {
  const newest = 'select max(id) from drizzle.__drizzle_migrations'
  await run(db, `update drizzle.__drizzle_migrations set hash = 'unreleased' where id = (${newest})`)
}

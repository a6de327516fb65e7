import type { Database } from '../../server/db/connect.ts'
import { connect } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'
import { countMentions, type Erasure, erase } from '../../server/erasure/erase.ts'
import { wantedAddress } from '../../server/erasure/spellings.ts'
import { createErasedForm } from '../../server/reputation/erased-form.ts'
import { makeErasureKey } from '../../server/reputation/erasure-key.ts'
import type { World } from '../sending/world.ts'

const TABLES = `
  select relname as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`

/** Every row of the database as text, each with the name of its table. */
export async function dump(db: Database): Promise<string[]> {
  const rows: string[] = []
  for (const { name } of await run<{ name: string }>(db, TABLES)) {
    // ASCII inside bytes reads as text in this format.
    const table = await run<{ row: string }>(db, `select replace(t::text, '\\', '') as row from ${name} t`)
    rows.push(...table.map(({ row }) => `${name} ${decoded(row)}`))
  }
  return rows
}

/** Bytes are shown in hexadecimal; those that are text are read. */
const decoded = (row: string) =>
  row.replace(/\bx((?:[0-9a-f]{2}){20,})/g, (_, hex) => Buffer.from(hex, 'hex').toString('latin1'))

export const wantedIn = async ({ db, sealer }: World, email: string): Promise<Erasure> => ({
  wanted: wantedAddress(email, createErasedForm(await makeErasureKey(db, sealer))),
})

const authorOf = (accountId: string) => ({ accountId, actor: { kind: 'operator', name: 'root' } }) as const

/** Erases an address as the command does, over its own connection. */
export async function eraseIn(world: World, email: string, change: Partial<Erasure> & { waitMs?: number } = {}) {
  const db = connect(world.database.url, { connections: 1 })
  try {
    const { waitMs, ...erasure } = change
    return await erase({ db, clock: world.clock, authorOf, waitMs }, { ...(await wantedIn(world, email)), ...erasure })
  } finally {
    await db.$client.end()
  }
}

export async function mentionsIn(world: World, email: string) {
  const { db, clock } = world
  return countMentions({ db, clock, authorOf }, await wantedIn(world, email))
}

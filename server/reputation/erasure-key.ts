import { randomBytes } from 'node:crypto'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { one, run } from '../db/statement.ts'
import { createErasedForm } from './erased-form.ts'

// The key of the hashes is a random one in the database, sealed with ENCRYPTION_KEYS. A key derived from those would
// be lost when they are replaced, and with it every suppression of an erased address.

/** There is one key, under this id. */
const ID = '00000000-0000-0000-0000-000000000001'
const PLACE = { table: 'erasure_keys', column: 'key', id: ID }

const READ = 'select key from erasure_keys where id = $1'
const INSERT = 'insert into erasure_keys (id, key) values ($1, $2) on conflict do nothing'

/** Returns the key of the erased forms; undefined when nothing was ever erased. */
export async function readErasureKey(db: Database, sealer: Sealer): Promise<Buffer | undefined> {
  const [row] = await run<{ key: Buffer }>(db, READ, [ID])
  return row && sealer.open(row.key, PLACE)
}

/** Creates the key, unless there is one. Returns it. */
export async function makeErasureKey(db: Database, sealer: Sealer): Promise<Buffer> {
  await run(db, INSERT, [ID, sealer.seal(randomBytes(32), PLACE)])
  return sealer.open(one(await run<{ key: Buffer }>(db, READ, [ID])).key, PLACE)
}

/** Returns an address, and its erased form when addresses have been erased: an entry may have either. */
export async function spellingsOf(db: Database, sealer: Sealer, email: string): Promise<string[]> {
  const key = await readErasureKey(db, sealer)
  return key ? [email, createErasedForm(key)(email)] : [email]
}

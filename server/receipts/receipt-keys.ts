import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { alterTables, ddl } from '../db/ddl.ts'
import { asc } from '../db/drizzle.ts'
import type { Sealer } from '../db/encryption.ts'
import { newId, publicId } from '../db/ids.ts'
import { receiptKeys } from '../db/schema.ts'
import { run } from '../db/statement.ts'
import { RECEIPT_ALGORITHM } from './claims.ts'

// The life of a key: next (its public key is shown), active (signs), retired (its private key is deleted, and its
// public key is shown for ever).

/**
 * How long a new key is shown before it signs: longer than a verifier may cache the key set, and a process of ours the
 * keys. No receipt is then signed by a key that its verifier cannot find.
 */
const SHOWN_FIRST_MS = 10 * 60_000
/** How long a verifier may cache the key set. */
export const KEY_SET_SECONDS = 5 * 60

export type ReceiptKey = typeof receiptKeys.$inferSelect

export interface KeyParts {
  db: Database
  clock: DatabaseClock
  sealer: Sealer
}

/** All keys, the oldest first. */
export function readKeys(db: Database): Promise<ReceiptKey[]> {
  return db.select().from(receiptKeys).orderBy(asc(receiptKeys.createdAt), asc(receiptKeys.id))
}

/** The active key: the newest that was shown long enough. The first key of all signs at once. */
export function activeKeyOf(keys: readonly ReceiptKey[], nowMs: number): ReceiptKey | undefined {
  const withPrivateKey = keys.filter(({ privateKey }) => privateKey !== null)
  return withPrivateKey.findLast((key) => signsFrom(key) <= nowMs) ?? withPrivateKey[0]
}

/** When a key that is not the first begins to sign, in Unix milliseconds. */
export const signsFrom = ({ createdAt }: ReceiptKey) => createdAt.getTime() + SHOWN_FIRST_MS

/** The id of a key outside: the `kid` of the header and of the key set. */
export const keyIdOf = ({ id }: Pick<ReceiptKey, 'id'>) => publicId('rkey', id)

// A second process that starts at the same moment waits for the lock, and then finds the key of the first.
const LOCK = ddl`lock table receipt_keys in share row exclusive mode`
const INSERT_FIRST = `
  insert into receipt_keys (id, private_key, public_key)
  select $1, $2, $3 where not exists (select from receipt_keys)`
const INSERT_NEXT = `
  insert into receipt_keys (id, private_key, public_key)
  select $1, $2, $3
  where not exists (
    select from receipt_keys
    where created_at > now() - interval '${SHOWN_FIRST_MS} ms'
      and exists (select from receipt_keys older where older.created_at < receipt_keys.created_at)
  )`

/** Creates the first key, unless there is one. */
export const makeFirstReceiptKey = (parts: KeyParts) => insertKey(parts, INSERT_FIRST)

/** Creates the next key, unless there is one that does not sign yet. Without any key it creates the first. */
export const makeNextReceiptKey = (parts: KeyParts) => insertKey(parts, INSERT_NEXT)

async function insertKey({ db, clock, sealer }: KeyParts, statement: string): Promise<void> {
  const id = newId(clock.now())
  const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  await alterTables(db, async ({ tx, alter }) => {
    await alter(LOCK)
    await run(tx, statement, [id, sealer.seal(privateKey, placeOf(id)), publicKey])
  })
}

const DELETE_RETIRED = `
  update receipt_keys old set private_key = null
  where private_key is not null and exists (
    select from receipt_keys newer
    where newer.private_key is not null and (newer.created_at, newer.id) > (old.created_at, old.id)
      and newer.created_at <= now() - interval '${SHOWN_FIRST_MS} ms'
  )`

/** Deletes the private keys that a newer key has replaced. */
export async function deleteRetired(db: Database): Promise<void> {
  await run(db, DELETE_RETIRED)
}

const placeOf = (id: string) => ({ table: 'receipt_keys', column: 'private_key', id })

/** The private key of a row that has one. Throws when its encryption key is not configured. */
export function openKey(sealer: Sealer, { id, privateKey }: ReceiptKey): KeyObject {
  return createPrivateKey({ key: sealer.open(privateKey!, placeOf(id)), format: 'der', type: 'pkcs8' })
}

/** The public key as an entry of a key set (RFC 7517, RFC 8037). */
export function publicJwk(key: ReceiptKey) {
  const publicKey = createPublicKey({ key: key.publicKey, format: 'der', type: 'spki' })
  const { kty, crv, x } = publicKey.export({ format: 'jwk' })
  return { kty, crv, x, kid: keyIdOf(key), alg: RECEIPT_ALGORITHM, use: 'sig' }
}

import type { DescMethod } from '@bufbuild/protobuf'
import { eq } from 'drizzle-orm'
import type { Caller } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { recent } from '../db/recent.ts'
import { apiKeys } from '../db/schema.ts'
import { fail } from '../errors.ts'
import { hashKey, kindOfKey } from './key.ts'
import { lastUses } from './last-use.ts'
import { scopeOf } from './scopes.ts'

export interface Call {
  /** undefined for what is served to every key, such as a path that does not exist. */
  method: DescMethod | undefined
  /** The Authorization header. */
  authorization: string | null
}

/** A revocation bites within 5 s, a new key works at the latest after 1 s of having been tried too early. */
const KEEP = { keepMs: 4_000, missingMs: 1_000, maxEntries: 10_000 }

/**
 * The gate before every call: who calls, and whether the key may. Throws `invalid_api_key` and `insufficient_scope`, and
 * `transient_failure` when the database cannot be asked about a key. No query stands in the way of a key in use.
 */
export function createGate({ db, clock }: { db: Database; clock: DatabaseClock }): (call: Call) => Promise<Caller> {
  const find = recent({ read: (hash) => readKey(db, hash), ...KEEP })
  const noteUse = lastUses(db)

  return async ({ method, authorization }) => {
    const key = bearer(authorization)
    const found = await find(hashKey(key).toString('hex')).catch((cause) => {
      throw fail('transient_failure', 'The API key could not be checked. It is safe to retry.', { cause })
    })
    const now = clock.now()
    if (!found || found.revoked || found.expiresAtMs <= now) throw unknownKey()
    if (method && !found.scopes.has(scopeOf(method))) throw missingScope(scopeOf(method))
    noteUse(found, now)
    return found.caller
  }
}

interface KnownKey {
  caller: Caller
  scopes: ReadonlySet<string>
  revoked: boolean
  /** Infinity without an expiry. */
  expiresAtMs: number
  lastUsedAtMs: number
}

/** By the hash alone, in an index: what its timing tells of SHA-256 of 256 random bits leads to no key. */
async function readKey(db: Database, hash: string): Promise<KnownKey | undefined> {
  const [row] = await db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.hash, Buffer.from(hash, 'hex')))
  return row && knownKey(row)
}

function knownKey(row: typeof apiKeys.$inferSelect): KnownKey {
  return {
    caller: Object.freeze({ accountId: row.accountId, keyId: row.id, test: row.test }),
    scopes: new Set(row.scopes),
    revoked: row.revokedAt !== null,
    expiresAtMs: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    lastUsedAtMs: row.lastUsedAt?.getTime() ?? 0,
  }
}

/** The key in an Authorization header (RFC 6750 2.1). Nothing is asked of the database about a text that is no key. */
function bearer(authorization: string | null): string {
  if (!authorization)
    throw fail('invalid_api_key', 'The Authorization header is missing. Send "Authorization: Bearer <API key>".')
  const [, key] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
  if (!key) throw fail('invalid_api_key', 'The Authorization header must read "Bearer <API key>".')
  if (kindOfKey(key)) return key
  throw fail(
    'invalid_api_key',
    'This is not an API key. One is "svc_live_" or "svc_test_" and 49 characters: check that it is whole.',
  )
}

const unknownKey = () => fail('invalid_api_key', 'This API key does not exist, was revoked or has expired.')

const missingScope = (scope: string) =>
  fail('insufficient_scope', `This API key lacks the scope "${scope}". Use a key that has it.`)

import type { Caller, Rate } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import { accounts, apiKeys } from '../db/schema.ts'
import { fail } from '../errors.ts'
import { recent } from '../recent.ts'
import { hashKey, kindOfKey } from './key.ts'
import { usedUp } from './limiter.ts'
import { heldScopes } from './scopes.ts'
import { createStrangers } from './strangers.ts'

/** A revocation and a new tier bite within 5 s, a new key works at the latest after 1 s of having been tried too early. */
const KEEP = { keepMs: 4_000, missingMs: 1_000, maxEntries: 10_000 }

const MAX_SEEN = 10_000

export interface KnownKey {
  caller: Caller
  scopes: ReadonlySet<string>
  /** Of the account; null for the default one. */
  tier: string | null
  revoked: boolean
  /** Infinity without an expiry. */
  expiresAtMs: number
  lastUsedAtMs: number
}

/** Who calls, as far as the call says. */
export interface Visitor {
  /** The Authorization header. */
  authorization: string | null
  /** An IP address. */
  remoteAddress: string
  /** The call is served without a key as well. A key that is sent must be valid all the same. */
  keyOptional?: boolean
  /** Is told what is left of the caller's requests, also when the call is refused for it. */
  tellRate(rate: Rate): void
}

type Parts = { db: Database; clock: DatabaseClock }

/**
 * Finds the valid key of a call; undefined for a call that has none and needs none. A call without a valid key is counted by its address; past the limit of an address only keys are looked
 * at that have been valid before, so that a flood of made-up keys costs no query each and keeps nobody else out.
 */
export function createIdentify({ db, clock }: Parts): (call: Visitor) => Promise<KnownKey | undefined> {
  const find = recent({ read: (hash) => readKey(db, hash), ...KEEP })
  const visit = createStrangers()
  const seen = new Set<string>()
  const checking = new Set<string>()

  async function findValid(hash: string): Promise<KnownKey | undefined> {
    const found = await find(hash).catch((cause) => {
      throw fail('transient_failure', 'The API key could not be checked. It is safe to retry.', { cause })
    })
    return found && !found.revoked && found.expiresAtMs > clock.now() ? found : undefined
  }

  async function check(hash: string): Promise<KnownKey | undefined> {
    checking.add(hash)
    try {
      return await findValid(hash)
    } finally {
      checking.delete(hash)
    }
  }

  return async ({ authorization, remoteAddress, keyOptional, tellRate }) => {
    const hash = hashIn(authorization)
    // One look at a key is shared by all who bring it at the same moment, and counted once.
    if (hash !== undefined && (seen.has(hash) || checking.has(hash))) {
      const found = await findValid(hash)
      if (found) return found
      seen.delete(hash)
    }
    const { over, limit, remaining, leftMs, forget } = visit(remoteAddress)
    const isOpen = keyOptional && authorization === null
    if (over || isOpen) tellRate({ limit, remaining, resetAt: Math.ceil((clock.now() + leftMs) / 1_000) })
    if (over) {
      throw usedUp(`The ${limit} requests per minute without a valid API key are used up.`, Math.ceil(leftMs / 1_000))
    }
    if (isOpen) return undefined
    if (hash === undefined) throw noKey(authorization)
    const found = await check(hash).catch((error) => {
      forget()
      throw error
    })
    if (!found) throw unknownKey()
    forget()
    seen.add(hash)
    if (seen.size > MAX_SEEN) seen.delete(seen.values().next().value!)
    return found
  }
}

/** By the hash alone, in an index: what its timing tells of SHA-256 of 256 random bits leads to no key. */
async function readKey(db: Database, hash: string): Promise<KnownKey | undefined> {
  const [row] = await db
    .select({ key: apiKeys, tier: accounts.tier })
    .from(apiKeys)
    .innerJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .where(eq(apiKeys.hash, Buffer.from(hash, 'hex')))
  return row && knownKey(row.key, row.tier)
}

function knownKey(row: typeof apiKeys.$inferSelect, tier: string | null): KnownKey {
  return {
    caller: Object.freeze({ accountId: row.accountId, keyId: row.id, test: row.test }),
    scopes: new Set(heldScopes(row)),
    tier,
    revoked: row.revokedAt !== null,
    expiresAtMs: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    lastUsedAtMs: row.lastUsedAt?.getTime() ?? 0,
  }
}

const BEARER = /^Bearer +(\S+)$/i

/** The hash of the key in an Authorization header (RFC 6750 2.1); undefined when there is none that `makeKey` could have made. */
function hashIn(authorization: string | null): string | undefined {
  const [, key] = BEARER.exec(authorization ?? '') ?? []
  return key && kindOfKey(key) ? hashKey(key).toString('hex') : undefined
}

/** Why there is no key in an Authorization header. */
function noKey(authorization: string | null) {
  if (!authorization)
    return fail('invalid_api_key', 'The Authorization header is missing. Send "Authorization: Bearer <API key>".')
  if (!BEARER.test(authorization))
    return fail('invalid_api_key', 'The Authorization header must read "Bearer <API key>".')
  return fail(
    'invalid_api_key',
    'This is not an API key. One is "svc_live_" or "svc_test_" and 49 characters: check that it is whole.',
  )
}

const unknownKey = () => fail('invalid_api_key', 'This API key does not exist, was revoked or has expired.')

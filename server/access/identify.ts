import { createBoundedMap } from '../../net/bounded-map.ts'
import { FairTurns } from '../../net/fair-turns.ts'
import { networkOf } from '../../net/network.ts'
import { createReadCache } from '../async/read-cache.ts'
import type { Caller, Visitor } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { stepInTime, throughOutage } from '../db/outage.ts'
import type { apiKeys } from '../db/schema.ts'
import { findKey } from '../directory/keys.ts'
import { fail } from '../errors.ts'
import { hashKey, hasShapeOfKey, kindOfKey } from './api-key.ts'
import { usedUp } from './limiter.ts'
import { notChecked, unknownKey } from './right-of-key.ts'
import { heldScopes } from './scopes.ts'
import { createStrangers } from './strangers.ts'
import { rateOf } from './windows.ts'

/** A revocation and a new tier take effect within 5 s. A key that was tried before it existed works within 1 s. */
const KEEP = { keepMs: 4_000, missingMs: 1_000, maxEntries: 10_000 }

const MAX_VALID_HASHES = 10_000

export interface StoredKey {
  caller: Caller & { keyId: string }
  scopes: ReadonlySet<string>
  /** The account's tier; null for the default one. */
  tier: string | null
  revoked: boolean
  /** Infinity for a key that does not expire. */
  expiresAtMs: number
  lastUsedAtMs: number
}

interface IdentifyParts {
  db: Database
  clock: DatabaseClock
  /** Callers whose key is not known yet share the turns of one account. */
  turns?: FairTurns
}

/**
 * Finds the valid key of a call; undefined for a call that has none and needs none. A call without a valid key is
 * counted against its address. An address over its limit can only use keys that have been valid before: a flood of
 * invented keys costs no queries and locks out no other caller.
 */
export function createIdentify({
  db,
  clock,
  turns = new FairTurns(),
}: IdentifyParts): (call: Visitor) => Promise<StoredKey | undefined> {
  const read = async (hash: string) => {
    const row = await stepInTime(
      db,
      throughOutage(db, () => findKey(db, hash)),
    )
    return row && keyOfRow(row.key, row.tier)
  }
  const find = createReadCache({ read, ...KEEP })
  const visit = createStrangers()
  const validHashes = createBoundedMap<true>({ maxEntries: MAX_VALID_HASHES })
  const pendingHashes = new Set<string>()

  async function findValid(hash: string): Promise<StoredKey | undefined> {
    const key = await find(hash).catch((cause) => {
      throw notChecked(cause)
    })
    if (key && !key.revoked && key.expiresAtMs > clock.now()) return key
    validHashes.delete(hash)
    return undefined
  }

  async function check(hash: string): Promise<StoredKey | undefined> {
    pendingHashes.add(hash)
    try {
      return await findValid(hash)
    } finally {
      pendingHashes.delete(hash)
    }
  }

  /** All calls that bring the same key at the same moment share one look-up, which is counted once. */
  const findKnown = (hash: string | undefined) =>
    hash !== undefined && (validHashes.has(hash) || pendingHashes.has(hash)) ? findValid(hash) : undefined

  return async ({ authorization, remoteAddress, keyOptional, tellRate }) => {
    const hash = hashIn(authorization)
    const known = await findKnown(hash)
    if (known) return known
    await turns.takeAsStranger(networkOf(remoteAddress))
    const knownNow = await findKnown(hash)
    if (knownNow) return knownNow
    const visited = visit(remoteAddress)
    const { over, limit, leftMs, forget } = visited
    const isOpen = keyOptional && authorization === null
    if (over || isOpen) tellRate(rateOf(visited, clock))
    if (over) {
      throw usedUp(`The ${limit} requests per minute without a valid API key are used up.`, Math.ceil(leftMs / 1_000))
    }
    if (isOpen) return undefined
    if (hash === undefined) throw noKey(authorization)
    const key = await check(hash).catch((error) => {
      forget()
      throw error
    })
    if (!key) throw unknownKey()
    forget()
    validHashes.set(hash, true)
    return key
  }
}

function keyOfRow(row: typeof apiKeys.$inferSelect, tier: string | null): StoredKey {
  const scopes = new Set(heldScopes(row))
  return {
    caller: Object.freeze({ accountId: row.accountId, keyId: row.id, test: row.test, scopes }),
    scopes,
    tier,
    revoked: row.revokedAt !== null,
    expiresAtMs: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    lastUsedAtMs: row.lastUsedAt?.getTime() ?? 0,
  }
}

const BEARER = /^Bearer +(\S+)$/i

/** The hash of the key in an Authorization header (RFC 6750 2.1); undefined for a text that is not an API key. */
function hashIn(authorization: string | null): string | undefined {
  const [, key] = BEARER.exec(authorization ?? '') ?? []
  return key && kindOfKey(key) ? hashKey(key).toString('hex') : undefined
}

/** The error for an Authorization header without an API key. */
function noKey(authorization: string | null) {
  if (!authorization)
    return fail('invalid_api_key', 'The Authorization header is missing. Send "Authorization: Bearer <API key>".')
  const [, text] = BEARER.exec(authorization) ?? []
  if (!text) return fail('invalid_api_key', 'The Authorization header must read "Bearer <API key>".')
  if (hasShapeOfKey(text))
    return fail('invalid_api_key', 'This API key is mistyped: its checksum is wrong. Check that it is copied exactly.')
  return fail(
    'invalid_api_key',
    'This is not an API key. One is "svc_live_" or "svc_test_" and 49 characters: check that it is whole.',
  )
}

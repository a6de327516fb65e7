import type { KeyObject } from 'node:crypto'
import { createBoundedMap } from '../../net/bounded-map.ts'
import { createReadCache } from '../async/read-cache.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { stepInTime } from '../db/outage.ts'
import { openDkimKey } from './dkim-key.ts'
import { type DkimKeyRow, type Domain, findDomain } from './domains.ts'
import { returnPathHostOf } from './records.ts'

/** A domain of an account, as a send needs it. */
export interface SenderDomain {
  id: string
  name: string
  status: Domain['status']
  verifiedAt: Date | null
  /** Whether its daily volume is limited in the days after its verification. */
  warmsUp: boolean
  /** Whether its mail may only leave over TLS with a valid certificate. */
  requiresTls: boolean
  /** The pool that it sends from; null takes that of the tier. */
  pool: string | null
  /** The tier of its account. */
  tier: string | null
  /** The host of bounces, and the name that SPF is checked for. */
  returnPathHost: string
  /** The active keys, which sign. */
  dkimKeys: { selector: string; algorithm: 'rsa' | 'ed25519'; key: KeyObject }[]
}

export interface SenderDomains {
  /**
   * Returns undefined for a domain of another account. Throws when its keys cannot be read, so that no mail leaves
   * unsigned.
   */
  find(accountId: string, name: string): Promise<SenderDomain | undefined>
}

/** A change to a domain takes effect within 5 s, a new domain within 1 s. */
const KEEP = { keepMs: 5_000, missingMs: 1_000, maxEntries: 10_000 }
const MAX_KEYS = 10_000
const UUID_CHARACTERS = 36

/** Reads domains with their keys through a cache. Every send calls `find`. */
export function createSenderDomains({ db, sealer }: { db: Database; sealer: Sealer }): SenderDomains {
  // A key never changes, so it is decrypted and parsed once and not at each read of the domain.
  const keys = createBoundedMap<KeyObject>({ maxEntries: MAX_KEYS })

  function keyOf(row: DkimKeyRow): KeyObject {
    const cached = keys.get(row.id)
    if (cached) return cached
    const key = openDkimKey(sealer, row)
    keys.set(row.id, key)
    return key
  }

  async function read(accountAndName: string): Promise<SenderDomain | undefined> {
    const accountId = accountAndName.slice(0, UUID_CHARACTERS)
    const name = accountAndName.slice(UUID_CHARACTERS)
    const domain = await stepInTime(db, findDomain(db, accountId, name))
    if (!domain) return undefined
    const { id, status, verifiedAt, warmsUp, requiresTls, pool, tier } = domain
    const active = domain.dkimKeys.filter(({ state }) => state === 'active')
    if (active.length === 0) throw new Error(`${name} has no DKIM key`)
    const dkimKeys = active.map((row) => ({ selector: row.selector, algorithm: row.algorithm, key: keyOf(row) }))
    const returnPathHost = returnPathHostOf(name)
    return { id, name, status, verifiedAt, warmsUp, requiresTls, pool, tier, returnPathHost, dkimKeys }
  }

  const find = createReadCache({ read, ...KEEP })
  return { find: (accountId, name) => find(accountId + name) }
}

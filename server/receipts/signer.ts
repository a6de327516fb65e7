import type { KeyObject } from 'node:crypto'
import { CompactSign, type JSONWebKeySet } from 'jose'
import { createReadCache } from '../async/read-cache.ts'
import { stepInTime } from '../db/outage.ts'
import { RECEIPT_ALGORITHM, RECEIPT_TYPE, type ReceiptClaims } from './claims.ts'
import {
  activeKeyOf,
  type KeyParts,
  keyIdOf,
  makeFirstReceiptKey,
  openKey,
  publicJwk,
  readKeys,
} from './receipt-keys.ts'

export interface ReceiptSigner {
  /** Returns the receipt as a compact JWS (RFC 7515 3.1). Throws when the private key cannot be opened. */
  sign(claims: ReceiptClaims): Promise<string>
  /** Every public key that ever signed, and the next one. */
  keySet(): Promise<JSONWebKeySet>
}

/** A new key takes part in every process within this time. */
const KEEP = { keepMs: 10_000, missingMs: 0, maxEntries: 1 }

/** Signs receipts with the active key. The first receipt, or the first look at the key set, creates the first key. */
export function createReceiptSigner(parts: KeyParts): ReceiptSigner {
  const { db, clock, sealer } = parts
  let opened: { id: string; key: KeyObject } | undefined

  const read = createReadCache({
    ...KEEP,
    read: () => stepInTime(db, readOrMakeKeys()),
  })
  async function readOrMakeKeys() {
    let keys = await readKeys(db)
    if (keys.length === 0) {
      await makeFirstReceiptKey(parts)
      keys = await readKeys(db)
    }
    return { keys, set: { keys: keys.map(publicJwk) } }
  }
  const readRecent = () => read('')

  return {
    async sign(claims) {
      const active = activeKeyOf((await readRecent()).keys, clock.now())!
      if (opened?.id !== active.id) opened = { id: active.id, key: openKey(sealer, active) }
      const header = { alg: RECEIPT_ALGORITHM, kid: keyIdOf(active), typ: RECEIPT_TYPE }
      return new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(opened.key)
    },
    keySet: async () => (await readRecent()).set,
  }
}

import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { Sealer } from '../db/encryption.ts'
import type { dkimKeys } from '../db/schema.ts'

const MODULUS_BITS = 2048

type NewKey = typeof dkimKeys.$inferInsert

const placeOf = (id: string) => ({ table: 'dkim_keys', column: 'private_key', id })

/** A new RSA-2048 key (RFC 8301 3.2) as a row of `dkim_keys`. The thread pool generates it. */
export async function makeDkimKey(sealer: Sealer, id: string, domainId: string, at: Date): Promise<NewKey> {
  const { privateKey, publicKey } = await oneAtATime(() =>
    promisify(generateKeyPair)('rsa', {
      modulusLength: MODULUS_BITS,
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
      publicKeyEncoding: { type: 'spki', format: 'der' },
    }),
  )
  const selector = selectorOf(id, at)
  return { id, domainId, selector, algorithm: 'rsa', privateKey: sealer.seal(privateKey, placeOf(id)), publicKey }
}

/** The private key of the row. Throws when its encryption key is not configured, or the sealed key was changed. */
export function openDkimKey(sealer: Sealer, { id, privateKey }: { id: string; privateKey: Uint8Array }): KeyObject {
  return createPrivateKey({ key: sealer.open(privateKey, placeOf(id)), format: 'der', type: 'pkcs8' })
}

/** The usual length of a key: that of its modulus, or of its curve. */
export function bitsOf({ algorithm, publicKey }: Pick<NewKey, 'algorithm' | 'publicKey'>): number {
  if (algorithm === 'ed25519') return 256
  const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' })
  return key.asymmetricKeyDetails!.modulusLength!
}

let last: Promise<unknown> = Promise.resolve()

/** A key takes tenths of a second, and the threads that generate keys also sign mail: keys use at most one of them. */
function oneAtATime<T>(generate: () => Promise<T>): Promise<T> {
  const key = last.then(generate)
  last = key.catch(() => {})
  return key
}

/** A selector that no key of any account has: the day, for people, and random digits of the id. */
function selectorOf(id: string, at: Date): string {
  return `v${at.toISOString().slice(0, 10).replaceAll('-', '')}-${id.slice(-8)}`
}

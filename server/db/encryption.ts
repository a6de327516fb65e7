import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

// Values that must stay secret from readers of the database (private keys, webhook secrets) are sealed with
// AES-256-GCM before they are written. A sealed value: version (1 byte), length of the key's id (1), id, nonce (12),
// tag (16), ciphertext.

export interface EncryptionKey {
  /** At most 32 characters. Every sealed value carries the id of its key, so that a key can be replaced. */
  id: string
  /** 32 bytes. */
  key: Uint8Array
}

/** The column and row that a value belongs to. A value that was moved to another place no longer opens. */
export interface SealedPlace {
  table: string
  column: string
  /** The row's id. */
  id: string
}

export interface Sealer {
  /** The first bytes of every value that it seals, and of no other value. */
  head: Buffer
  seal(plaintext: Uint8Array, place: SealedPlace): Buffer
  /** As `seal`, and equal values of a place get equal seals. */
  sealAlike(plaintext: Uint8Array, place: SealedPlace): Buffer
  /** Throws when the value was changed, belongs to another place, or its key is no longer configured. */
  open(sealed: Uint8Array, place: SealedPlace): Buffer
  /**
   * One 32-byte key per encryption key for another purpose (HKDF-SHA-256, RFC 5869): sign with the first, verify with
   * all.
   */
  deriveKeys(purpose: string): [Buffer, ...Buffer[]]
}

/** The key of a sealed value is not configured. */
export class UnknownKeyError extends Error {}

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals with the first key and opens with all of them. */
export function createSealer(encryptionKeys: readonly EncryptionKey[]): Sealer {
  const [first, ...others] = encryptionKeys
  if (!first) throw new Error('there is no encryption key')
  const sealingKey = derive(first.key, 'seal')
  const openingKeys = new Map(encryptionKeys.map(({ id, key }) => [id, derive(key, 'seal')]))
  const nonceKey = derive(first.key, 'nonce of a seal')
  const head = headOf(first.id)

  function sealWith(nonce: Buffer, plaintext: Uint8Array, place: SealedPlace): Buffer {
    const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce)
    cipher.setAAD(additionalData(head, place))
    const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
    return Buffer.concat([head, nonce, cipher.getAuthTag(), ciphertext])
  }

  return {
    head,
    seal: (plaintext, place) => sealWith(randomBytes(NONCE_BYTES), plaintext, place),

    sealAlike(plaintext, place) {
      // No two values share a nonce: it is a keyed hash of the value and its place.
      const hash = createHmac('sha256', nonceKey).update(additionalData(head, place)).update('\0').update(plaintext)
      return sealWith(hash.digest().subarray(0, NONCE_BYTES), plaintext, place)
    },

    open: (sealed, place) => openWith(openingKeys, sealed, place),

    deriveKeys: (purpose) => [derive(first.key, purpose), ...others.map(({ key }) => derive(key, purpose))],
  }
}

function openWith(openingKeys: ReadonlyMap<string, Buffer>, sealed: Uint8Array, place: SealedPlace): Buffer {
  const where = `${place.table}.${place.column} of ${place.id}`
  const bytes = Buffer.from(sealed)
  const headBytes = 2 + (bytes[1] ?? 0)
  if (bytes[0] !== VERSION || bytes.length < headBytes + NONCE_BYTES + TAG_BYTES) {
    throw new Error(`${where} is not a sealed value`)
  }
  const keyId = bytes.toString('utf8', 2, headBytes)
  const key = openingKeys.get(keyId)
  if (!key) {
    const shownId = JSON.stringify(keyId)
    throw new UnknownKeyError(`${where} is sealed with a key that ENCRYPTION_KEYS does not name: ${shownId}`)
  }
  const nonce = bytes.subarray(headBytes, headBytes + NONCE_BYTES)
  const body = headBytes + NONCE_BYTES
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(additionalData(bytes.subarray(0, headBytes), place))
  decipher.setAuthTag(bytes.subarray(body, body + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(body + TAG_BYTES)), decipher.final()])
  } catch {
    const why = `it was changed, moved from another row, or the key ${keyId} is another one`
    throw new Error(`${where} does not open: ${why}`)
  }
}

/** The configured keys are used for derivation alone, so that no two purposes share a key. */
function derive(key: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), `verdict ${purpose}`, 32))
}

function headOf(keyId: string): Buffer {
  const id = Buffer.from(keyId)
  return Buffer.concat([Buffer.from([VERSION, id.length]), id])
}

function additionalData(head: Uint8Array, { table, column, id }: SealedPlace): Buffer {
  return Buffer.concat([head, Buffer.from(JSON.stringify([table, column, id]))])
}

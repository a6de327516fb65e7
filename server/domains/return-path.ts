import { createHmac, timingSafeEqual } from 'node:crypto'
import { readId, showId } from '../db/ids.ts'

// The local part that bounces of a message come back to: `b.<message>.<mac>`, 45 characters of lower case and digits. It names
// the message, and its HMAC proves that the service wrote it, so that nobody can forge a bounce.

const SHAPE = /^b\.([0-9a-z]{26})\.([0-9a-v]{16})$/
const MAC_BYTES = 10

/** `messageId` is the UUID. */
export function makeReturnPath(key: Uint8Array, messageId: string): string {
  return `b.${showId('msg', messageId).slice('msg_'.length)}.${base32(mac(key, messageId))}`
}

/** The UUID of the message, in whatever case the address came back; undefined when none of the keys wrote it. */
export function readReturnPath(keys: readonly Uint8Array[], localPart: string): string | undefined {
  const [, id, given] = SHAPE.exec(localPart.toLowerCase()) ?? []
  const messageId = id && readId('msg', `msg_${id}`)
  if (!messageId || !given) return undefined
  const written = keys.some((key) => timingSafeEqual(Buffer.from(base32(mac(key, messageId))), Buffer.from(given)))
  return written ? messageId : undefined
}

/** 80 bits (RFC 2104 5 asks for no fewer). */
function mac(key: Uint8Array, messageId: string): Buffer {
  return createHmac('sha256', key).update(messageId).digest().subarray(0, MAC_BYTES)
}

/** RFC 4648 7 in lower case: a mail server may change the case of a local part. */
function base32(bytes: Buffer): string {
  return BigInt(`0x${bytes.toString('hex')}`)
    .toString(32)
    .padStart((bytes.length * 8) / 5, '0')
}

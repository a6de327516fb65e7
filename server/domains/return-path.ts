import { createHmac, timingSafeEqual } from 'node:crypto'
import { parsePublicId, publicId } from '../db/ids.ts'

// The local part for bounces of a message: `b.<message>.<mac>`, 45 characters of lower case and digits. It names the
// message, and its HMAC proves that the service wrote it, so that bounces cannot be forged.

const SHAPE = /^b\.([0-9a-z]{26})\.([0-9a-v]{16})$/
const MAC_BYTES = 10

/** `messageId` is the UUID of the message. */
export function makeReturnPath(key: Uint8Array, messageId: string): string {
  return `b.${publicId('msg', messageId).slice('msg_'.length)}.${base32(mac(key, messageId))}`
}

/** The UUID of the message. The case of the address does not matter. Returns undefined when no key made the address. */
export function readReturnPath(keys: readonly Uint8Array[], localPart: string): string | undefined {
  const [, id, token] = SHAPE.exec(localPart.toLowerCase()) ?? []
  const messageId = id && parsePublicId('msg', `msg_${id}`)
  if (!messageId || !token) return undefined
  const isOurs = keys.some((key) => timingSafeEqual(Buffer.from(base32(mac(key, messageId))), Buffer.from(token)))
  return isOurs ? messageId : undefined
}

/** 80 bits, the least that RFC 2104 5 permits. */
function mac(key: Uint8Array, messageId: string): Buffer {
  return createHmac('sha256', key).update(messageId).digest().subarray(0, MAC_BYTES)
}

/** RFC 4648 7 in lower case: a mail server may change the case of a local part. */
function base32(bytes: Buffer): string {
  return BigInt(`0x${bytes.toString('hex')}`)
    .toString(32)
    .padStart((bytes.length * 8) / 5, '0')
}

import { createHmac, timingSafeEqual } from 'node:crypto'
import { parsePublicId, publicId } from '../db/ids.ts'

// The local part for bounces: `b+<message><position><mac>`, 46 characters of lower case and digits. It names a message
// and one of its recipient domains, by the position of the domain's first recipient. The HMAC over both proves that the
// service wrote it, so no party can make one for another domain.

/** What a return path proves: the mail is about this message. */
export interface ReturnPath {
  /** UUID. */
  messageId: string
  /**
   * The position of a recipient, to whose domain the service gave the address. Absent in the addresses of version 0.1,
   * which every domain of a message got.
   */
  position?: number
}

const MESSAGE = '[0-9a-z]{26}'
const MAC = '[0-9a-v]{16}'
/** A message has at most 50 recipients. */
const TOKEN = `b\\+(${MESSAGE})([0-4]\\d)(${MAC})`
/** Version 0.1. It is read as long as its messages are kept, which is 90 days. */
const OLD_TOKEN = `b\\.(${MESSAGE})()\\.(${MAC})`
const LOCAL_PARTS = [TOKEN, OLD_TOKEN].map((token) => new RegExp(`^${token}$`))
const TOKEN_IN_TEXT = new RegExp(`\\b(?:${TOKEN}|${OLD_TOKEN})(?![\\w.])`, 'gi')
const MAX_TOKENS = 20
const MAC_BYTES = 10

/** `messageId` is the UUID of the message, `position` that of the first recipient of the domain. */
export function makeReturnPath(key: Uint8Array, messageId: string, position: number): string {
  const digits = String(position).padStart(2, '0')
  return `b+${publicId('msg', messageId).slice('msg_'.length)}${digits}${mac(key, messageId, digits)}`
}

/** The case of the address does not matter. Returns undefined when no key made the address. */
export function readReturnPath(keys: readonly Uint8Array[], localPart: string): ReturnPath | undefined {
  const lowerCase = localPart.toLowerCase()
  const match = LOCAL_PARTS.map((shape) => shape.exec(lowerCase)).find((match) => match !== null)
  const [, id = '', digits = '', token = ''] = match ?? []
  const messageId = parsePublicId('msg', `msg_${id}`)
  if (!messageId) return undefined
  const isOurs = keys.some((key) => timingSafeEqual(Buffer.from(mac(key, messageId, digits)), Buffer.from(token)))
  if (!isOurs) return undefined
  return digits === '' ? { messageId } : { messageId, position: Number(digits) }
}

/** The first return path of ours that a text quotes. */
export function findReturnPath(keys: readonly Uint8Array[], text: string): ReturnPath | undefined {
  const tokens = [...new Set(text.match(TOKEN_IN_TEXT))].slice(0, MAX_TOKENS)
  return tokens.map((token) => readReturnPath(keys, token)).find((returnPath) => returnPath !== undefined)
}

/** 80 bits, the least that RFC 2104 5 permits. */
function mac(key: Uint8Array, messageId: string, digits: string): string {
  return base32(createHmac('sha256', key).update(`${messageId}${digits}`).digest().subarray(0, MAC_BYTES))
}

/** RFC 4648 7 in lower case: a mail server may change the case of a local part. */
function base32(bytes: Buffer): string {
  return BigInt(`0x${bytes.toString('hex')}`)
    .toString(32)
    .padStart((bytes.length * 8) / 5, '0')
}

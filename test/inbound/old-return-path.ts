import { createHmac } from 'node:crypto'
import { publicId } from '../../server/db/ids.ts'

/** The local part for bounces that version 0.1 gave to every domain of a message. */
export function oldReturnPath(key: Uint8Array, messageId: string): string {
  const mac = createHmac('sha256', key).update(messageId).digest().subarray(0, 10)
  const token = BigInt(`0x${mac.toString('hex')}`)
    .toString(32)
    .padStart(16, '0')
  return `b.${publicId('msg', messageId).slice('msg_'.length)}.${token}`
}

import type { Address } from '../../mail/address.ts'
import { rfcDate } from '../../mail/mime/header-fields.ts'

/** How a message came to the front. */
export interface Way {
  /** The name of this server, as its greeting has it. */
  serverName: string
  /** Over TLS. */
  isSecure: boolean
  /**
   * Each recipient has its own reply, so a client repeats only what failed. The fields for the service are not read: a
   * mail server relays what others wrote.
   */
  isLmtp: boolean
  /** The program has given SMTPUTF8. */
  isUtf8: boolean
}

/**
 * The Received field that goes on top (RFC 5321 4.4). It says where the message came in, and not from whom: the address
 * of a program is no recipient's business. A recipient is named when there is no other.
 */
export function receivedField(way: Way, recipients: readonly Address[], date: Date): Buffer {
  const [only, ...others] = recipients
  const isNamed = only && others.length === 0 && /^[!-~]+$/.test(only.address)
  const lines = [
    `Received: by ${way.serverName} with ${protocolOf(way)}${isNamed ? '' : ';'}`,
    ...(isNamed ? [`for <${only.address}>;`] : []),
    rfcDate(date),
  ]
  return Buffer.from(`${lines.join('\r\n\t')}\r\n`)
}

/** The names of RFC 3848 and RFC 6531. Every client has logged in. */
function protocolOf({ isLmtp, isSecure, isUtf8 }: Way): string {
  const tail = isSecure ? 'SA' : 'A'
  if (isUtf8) return `UTF8${isLmtp ? 'LMTP' : 'SMTP'}${tail}`
  return `${isLmtp ? 'LMTP' : 'ESMTP'}${tail}`
}

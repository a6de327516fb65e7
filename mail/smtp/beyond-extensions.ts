import { needsSmtpUtf8 } from '../address.ts'
import type { Verdict } from './attempt.ts'
import type { MailObject } from './envelope.ts'
import type { Session } from './session.ts'

/**
 * The verdicts on recipients that the server cannot take, as its reply to EHLO says: a message over its limit
 * (RFC 1870 4), 8-bit content without 8BITMIME (RFC 6152 3), or letters beyond ASCII without SMTPUTF8 (RFC 6531 3.2).
 * They get no command. The other recipients have no verdict.
 */
export function beyondExtensions(
  { extensions, host }: Session,
  { content, recipients }: MailObject,
): (Verdict | undefined)[] {
  const { maxSize, eightBitMime, smtpUtf8 } = extensions
  const refuse = (detail: string): Verdict => ({
    phase: 'ehlo',
    outcome: { kind: 'bounced', reason: 'policy_block', retryable: false },
    detail,
  })
  if (maxSize !== undefined && content.size > maxSize) {
    const detail = `${host.name} takes ${maxSize} bytes, the message has ${content.size}`
    return recipients.map(() => ({ ...refuse(detail), reply: { code: 250, text: `SIZE ${maxSize}` } }))
  }
  if (content.isEightBit && !eightBitMime) {
    // We never re-encode a message.
    const refusal = refuse(`${host.name} does not offer 8BITMIME, and the message has 8-bit content`)
    return recipients.map(() => refusal)
  }
  if (smtpUtf8) return recipients.map(() => undefined)
  if (content.hasUtf8Header) {
    const detail = `${host.name} does not offer SMTPUTF8, which letters beyond ASCII in the header need`
    return recipients.map(() => refuse(detail))
  }
  return recipients.map((address) =>
    needsSmtpUtf8(address)
      ? refuse(`${host.name} does not offer SMTPUTF8, which the recipient's address needs`)
      : undefined,
  )
}

import PostalMime from 'postal-mime'
import { expect } from 'vitest'
import { parseAddress, parseMailbox } from '../../../mail/address.ts'
import { buildMessage, type MimeMessage } from '../../../mail/mime/builder.ts'

/** A message that every test changes in its own way. */
export const basic: MimeMessage = {
  messageId: 'msg_1@rp.shop.example',
  date: new Date('2026-01-02T03:04:05Z'),
  from: parseMailbox('Shop <no-reply@shop.example>')!,
  to: [parseAddress('user@example.com')!],
  subject: 'Your order',
  text: 'Thank you.',
  headers: [],
  attachments: [],
  boundarySeed: 'msg_1',
}

export function build(changes: Partial<MimeMessage> = {}): Buffer {
  return Buffer.concat(buildMessage({ ...basic, ...changes }))
}

export function parse(raw: Buffer) {
  return PostalMime.parse(raw)
}

/**
 * The text as readers see it. A byte order mark at its start, the kind of its line ends, and their number after the
 * last word do not show.
 */
export function seen(text: string | undefined): string | undefined {
  return text
    ?.replace(/^\ufeff/, '')
    .replace(/\r\n?/g, '\n')
    .replace(/\n+$/, '')
}

export function headerNames(raw: Buffer): string[] {
  const head = raw.toString('latin1').split('\r\n\r\n', 1)[0]!
  return head.split(/\r\n(?![ \t])/).map((line) => line.slice(0, line.indexOf(':')))
}

/** What every mail system may rely on, for any content. */
export function expectTransportable(raw: Buffer): void {
  const text = raw.toString('latin1')
  expect(text).toMatch(/^[\t\r\n -~]*$/)
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  expect(text.endsWith('\r\n')).toBe(true)
  const lines = text.split('\r\n')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(998)
  // A line of only spaces ends the header for some readers.
  expect(lines.filter((line) => /^[ \t]+$/.test(line))).toEqual([])
}

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Mailbox, parseAddress } from '../../../mail/address.ts'
import { attachmentType, type MimeMessage } from '../../../mail/mime/builder.ts'
import { headerFault } from '../../../mail/mime/custom-headers.ts'
import { safeFilename } from '../../../mail/mime/filename.ts'
import { CONTENT_ID, CONTENT_TYPE } from '../../../server/sending/attachments.ts'
import { anyCharacter } from '../../harness/text.ts'
import { basic, build, expectTransportable, headerNames, parse, seen } from './building.ts'

const NAMES = 'Date From To Subject Message-ID MIME-Version Content-Type Content-Transfer-Encoding'.split(' ')

const visible = fc.string({ unit: 'grapheme', maxLength: 300 }).filter((text) => !/\p{Cc}/u.test(text))
const anything = fc.oneof(visible, fc.string({ unit: anyCharacter, maxLength: 300 }))
const body = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 2_000 }),
  fc.lorem({ maxCount: 30, mode: 'sentences' }),
  fc
    .array(fc.constantFrom('a', ' ', '\t', '\r', '\n', '\r\n', '.', 'ü', '=', '\0', 'From ', '--=_', 'x'.repeat(80)))
    .map((parts) => parts.join('')),
)
const address = fc
  .constantFrom('a@b.example', '"two words"@b.example', `${'x'.repeat(64)}@bücher.example`)
  .map((text) => parseAddress(text)!)
const isNoContainer = (type: string) => !/^(?:multipart|message)\//i.test(type)
const mailbox = fc.record({ name: visible, address }).map(({ name, address }): Mailbox => {
  const trimmed = name.trim()
  return trimmed === '' ? address : { name: trimmed, ...address }
})

/** The mailboxes of a field as a reader sees them. */
const shown = (mailboxes: readonly { name?: string; address?: string }[] = []) =>
  mailboxes.map(({ name, address }) => [name ?? '', unquoted(address)])

/** The parser drops the quotes of some local parts. */
function unquoted(address: string | undefined): string {
  return address?.replaceAll('"', '') ?? ''
}

/** A file as the parser reports it, without its content. */
function asRead({ filename, contentType, contentId }: MimeMessage['attachments'][number]) {
  return {
    filename: safeFilename(filename),
    mimeType: attachmentType({ filename, contentType }),
    ...(contentId === undefined
      ? { disposition: 'attachment' }
      : { disposition: 'inline', related: true, contentId: `<${contentId}>` }),
  }
}

test('readers see exactly the message that was built, in bytes that every mail system can carry', async () => {
  const message = fc.record({
    from: mailbox,
    replyTo: fc.array(mailbox, { maxLength: 10 }),
    to: fc.array(mailbox, { minLength: 1, maxLength: 10 }),
    cc: fc.array(mailbox, { maxLength: 10 }),
    subject: visible,
    bodies: fc.oneof(
      fc.record({ text: body }),
      fc.record({ html: body }),
      fc.record({ text: body, html: body }),
    ) as fc.Arbitrary<{ text?: string; html?: string }>,
    attachments: fc.uniqueArray(
      fc.record({
        filename: visible,
        content: fc.uint8Array({ maxLength: 500 }).map((octets) => Buffer.from(octets)),
        contentType: fc.option(fc.stringMatching(CONTENT_TYPE).filter(isNoContainer), { nil: undefined }),
        contentId: fc.option(fc.stringMatching(CONTENT_ID), { nil: undefined }),
      }),
      { maxLength: 4, selector: ({ contentId }) => contentId ?? {} },
    ),
  })
  await fc.assert(
    fc.asyncProperty(message, async ({ bodies, ...changes }) => {
      const raw = build({ text: undefined, ...changes, ...bodies })
      expectTransportable(raw)
      const mail = await parse(raw)
      expect(mail.subject ?? '').toBe(changes.subject)
      expect(mail.from?.name).toBe(changes.from.name ?? '')
      expect(unquoted(mail.from?.address)).toBe(unquoted(changes.from.address))
      for (const field of ['to', 'cc', 'replyTo'] as const) expect(shown(mail[field])).toEqual(shown(changes[field]))
      if (bodies.text !== undefined) expect(seen(mail.text) ?? '').toBe(seen(bodies.text.toWellFormed()))
      if (bodies.html !== undefined) expect(seen(mail.html) ?? '').toBe(seen(bodies.html.toWellFormed()))
      const { inline = [], attached = [] } = Object.groupBy(changes.attachments, ({ contentId }) =>
        contentId === undefined ? 'attached' : 'inline',
      )
      const files = [...inline, ...attached]
      expect(mail.attachments).toMatchObject(files.map(asRead))
      for (const [index, { content }] of mail.attachments.entries())
        expect(Buffer.from(content as ArrayBuffer).equals(files[index]!.content)).toBe(true)
    }),
    { numRuns: 300 },
  )
})

test('no value can add a header, end the header or break a line', () => {
  const evil = fc.oneof(
    anything,
    fc.constantFrom('a\r\nBcc: x@example.com', 'a\r\n\r\nbody', '\n', '\r', 'a\n b', '\u2028'),
  )
  fc.assert(
    fc.property(evil, evil, evil, evil, (subject, name, value, filename) => {
      const raw = build({
        subject,
        from: { name, ...basic.to[0]! },
        headers: [['X-Value', value]],
        attachments: [{ filename, content: Buffer.from('x') }],
      })
      expectTransportable(raw)
      expect(headerNames(raw)).toEqual([...NAMES.slice(0, 5), 'X-Value', 'MIME-Version', 'Content-Type'])
    }),
    { numRuns: 1_000 },
  )
})

test('a header without a fault arrives under its name with its value', async () => {
  const name = fc.string({ unit: fc.constantFrom('X', '-', 'a', '!', '~'), minLength: 1, maxLength: 76 })
  await fc.assert(
    fc.asyncProperty(
      name,
      fc.oneof(visible, fc.string({ maxLength: 998 }), fc.constant('x'.repeat(998))),
      async (name, value) => {
        if (headerFault(name, value) !== undefined) return
        const raw = build({ headers: [[name, value]] })
        expectTransportable(raw)
        expect(headerNames(raw)[5]).toBe(name)
        const header = (await parse(raw)).headers[5]!
        if (/^[ -~]{0,800}$/.test(value) && !value.includes(' '.repeat(60))) expect(header.value).toBe(value.trim())
      },
    ),
    { numRuns: 500 },
  )
})

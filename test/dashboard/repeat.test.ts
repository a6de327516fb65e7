import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { candidatesOf, repeatFault, repeatOf } from '../../dashboard/messages/repeat.ts'
import { type GetEmailResponse, GetEmailResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'

const NOW = Date.UTC(2026, 10, 29)
const DAY_MS = 86_400_000

interface Fate {
  field: 'to' | 'cc' | 'bcc'
  named: boolean
  fate: 'delivered' | 'doubt' | 'retryable' | 'final'
}

function emailOf(fates: Fate[], ageDays: number): GetEmailResponse {
  const address = (i: number) => `r${i}@example.com`
  const shown = (i: number, named: boolean) => (named ? `Ann <${address(i)}>` : address(i))
  const inField = (name: string) => fates.flatMap(({ field, named }, i) => (field === name ? [shown(i, named)] : []))
  return create(GetEmailResponseSchema, {
    messageId: 'msg_1',
    from: 'shop@example.com',
    to: inField('to'),
    cc: inField('cc'),
    bcc: inField('bcc'),
    text: 'Hi',
    createdAt: timestampFromMs(NOW - ageDays * DAY_MS),
    recipients: fates.map(({ fate }, i) => ({
      email: address(i),
      status: fate === 'delivered' ? DeliveryStatus.DELIVERED : DeliveryStatus.BOUNCED,
      inDoubt: fate === 'doubt' || undefined,
      retryable: fate === 'retryable',
    })),
  })
}

const fates = fc.array(
  fc.record<Fate>({
    field: fc.constantFrom('to', 'cc', 'bcc'),
    named: fc.boolean(),
    fate: fc.constantFrom('delivered', 'doubt', 'retryable', 'final'),
  }),
  { minLength: 1, maxLength: 12 },
)

test('exactly the chosen get it; it is a retry when all of them can be retried, and always has a recipient in to', () => {
  fc.assert(
    fc.property(fates, fc.integer({ min: 0, max: 9 }), fc.infiniteStream(fc.boolean()), (fates, ageDays, coins) => {
      const email = emailOf(fates, ageDays)
      const { open, doubtful } = candidatesOf(email)
      const delivered = email.recipients.filter(({ status }) => status === DeliveryStatus.DELIVERED)
      expect(open.length + doubtful.length + delivered.length).toBe(fates.length)
      const chosen = [...open, ...doubtful].map(({ email }) => email).filter(() => coins.next().value)
      const repeat = repeatOf(email, chosen, NOW)
      const isOfBcc = (address: string) => email.bcc.some((mailbox) => mailbox.includes(address))
      expect('fault' in repeat).toBe(chosen.length === 0 || (chosen.length > 1 && chosen.every(isOfBcc)))
      if ('fault' in repeat) return
      const { to = [], cc = [], bcc = [], retryOf } = repeat.request
      const addresses = [...to, ...cc, ...bcc].map((mailbox) => /r\d+@example\.com/.exec(mailbox)![0])
      expect(addresses.toSorted()).toEqual(chosen.toSorted())
      expect(to.length).toBeGreaterThan(0)
      // A bcc recipient is never shown to others.
      if (addresses.length > 1) for (const mailbox of [...to, ...cc]) expect(email.bcc).not.toContain(mailbox)
      const isRetry = ageDays <= 7 && open.filter(({ email }) => chosen.includes(email)).every((one) => one.retryable)
      const hasDoubt = doubtful.some(({ email }) => chosen.includes(email))
      expect(retryOf).toBe(isRetry && !hasDoubt ? 'msg_1' : undefined)
    }),
  )
})

test('what is not stored cannot be sent again', () => {
  const email = emailOf([{ field: 'to', named: false, fate: 'final' }], 1)
  expect(repeatFault(email)).toBeUndefined()
  expect(repeatFault({ ...email, text: undefined })).toMatch(/content/)
  expect(repeatFault({ ...email, raw: true })).toMatch(/built/)
  const [file] = create(GetEmailResponseSchema, { attachments: [{ filename: 'a.pdf' }] }).attachments
  expect(repeatFault({ ...email, attachments: [file!] })).toMatch(/attachments/)
})

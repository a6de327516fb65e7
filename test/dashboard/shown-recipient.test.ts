import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { differenceOf, shownRecipient } from '../../dashboard/messages/shown-recipient.ts'
import { ListedEmailSchema, ListedFeedbackSchema, ListedRecipientSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, FeedbackKind, Reason } from '../../gen/verdict/v1/outcomes_pb.ts'

const { DELIVERED, BOUNCED, REJECTED } = DeliveryStatus
const to = (email: string, status: DeliveryStatus, reason?: Reason, inDoubt?: boolean) =>
  create(ListedRecipientSchema, { email, status, reason, inDoubt })

const MIXED = create(ListedEmailSchema, {
  status: BOUNCED,
  reason: Reason.MAILBOX_FULL,
  inDoubt: true,
  recipients: [
    to('ivan@gmail.com', DELIVERED),
    to('blocked@example.com', REJECTED, Reason.SUPPRESSION_LIST),
    to('Full@example.com', BOUNCED, Reason.MAILBOX_FULL),
    to('late@example.com', BOUNCED, Reason.TEMPORARY_FAILURE, true),
    to('emil@xn--bcher-kva.example', DELIVERED),
  ],
})

test.each([
  ['without a filter, the one that gives the email its status', {}, 'Full@example.com'],
  ['the one that is searched, delivered while others bounced', { recipient: 'ivan@gmail.com' }, 'ivan@gmail.com'],
  ['the one that is searched in other letters', { recipient: 'IVAN@Gmail.com' }, 'ivan@gmail.com'],
  ['the one that is searched by the Unicode form', { recipient: 'emil@bücher.example' }, 'emil@xn--bcher-kva.example'],
  ['the one that begins as the search does', { recipient: 'LATE' }, 'late@example.com'],
  ['the one of the domain that is searched', { recipient: '@Bücher.example' }, 'emil@xn--bcher-kva.example'],
  ['the one in doubt, where those are listed', { inDoubt: true }, 'late@example.com'],
])('a row of the list names %s', (_, filters, email) => {
  expect(shownRecipient(MIXED, filters).email).toBe(email)
})

test('a row of a delivered email names one that a report is about, so that no such row looks like success', () => {
  const feedback = [create(ListedFeedbackSchema, { recipient: 'Bob@example.com', kind: FeedbackKind.LATE_BOUNCE })]
  const recipients = [to('ann@example.com', DELIVERED), to('bob@example.com', DELIVERED)]
  const email = create(ListedEmailSchema, { status: DELIVERED, recipients, feedback })
  expect(shownRecipient(email, {}).email).toBe('bob@example.com')
  expect(shownRecipient(email, { recipient: 'ann@example.com' }).email).toBe('ann@example.com')
  const mixed = create(ListedEmailSchema, { ...MIXED, feedback: [{ ...feedback[0]!, recipient: 'ivan@gmail.com' }] })
  expect(shownRecipient(mixed, {}).email).toBe('Full@example.com')
  expect(shownRecipient(mixed, { feedback: FeedbackKind.LATE_BOUNCE }).email).toBe('ivan@gmail.com')
  expect(shownRecipient(mixed, { feedback: FeedbackKind.COMPLAINT }).email).toBe('Full@example.com')
})

test('a row says how its recipients differ', () => {
  const [delivered, rejected, bounced, doubtful] = MIXED.recipients
  expect(differenceOf(MIXED.recipients)).toBe('1 of 5 rejected, 1 bounced, 1 in doubt')
  expect(differenceOf([delivered!, delivered!, bounced!])).toBe('1 of 3 bounced')
  expect(differenceOf([bounced!, doubtful!])).toBe('1 of 2 bounced, 1 in doubt')
  expect(differenceOf([rejected!, rejected!])).toBeUndefined()
  expect(differenceOf([delivered!, delivered!])).toBeUndefined()
})

import { expect, test } from 'vitest'
import { replyOf } from '../../bench/verdicts/labelled.ts'
import {
  piecesOf,
  type SentenceFacts,
  sentenceOf,
  sentenceOfMessage,
  sentenceOfReports,
} from '../../dashboard/messages/sentences.ts'
import { DeliveryStatus, FeedbackKind, Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { ruleFor } from '../../mail/smtp/classify.ts'

const { DELIVERED, BOUNCED, REJECTED } = DeliveryStatus
const LATER_REASON = 99 as Reason

const outcome = (change: Partial<SentenceFacts>): SentenceFacts => ({
  email: 'ann@example.com',
  status: BOUNCED,
  ...change,
})

function shown(recipients: SentenceFacts[], sandbox = false): string {
  const { sentence, about } = sentenceOfMessage(recipients, sandbox)
  return piecesOf([sentence.what, sentence.advice].filter(Boolean).join(' '), about.email)
    .map(({ text }) => text)
    .join('')
}

test.for<[Partial<SentenceFacts>, string]>([
  [{ status: DELIVERED }, 'the mail server of example.com accepted the message for ann@example.com.'],
  [{ reason: Reason.MAILBOX_FULL }, 'the mailbox of ann@example.com is full. You can send it again later.'],
  [{ reason: Reason.MAILBOX_DOES_NOT_EXIST }, 'ann@example.com has no mailbox. Check the spelling'],
  [{ reason: Reason.NO_MX_RECORD }, 'example.com has no mail server.'],
  [{ reason: Reason.CONNECTION_TIMEOUT }, 'no mail server of example.com could be reached in time.'],
  [{ reason: Reason.CONNECTION_TIMEOUT, inDoubt: true }, 'received the whole message, and its reply was lost.'],
  [{ reason: Reason.POLICY_BLOCK }, 'refused it because of its rules.'],
  [{ reason: Reason.SPAM_BLOCKED }, 'takes the content for spam or harmful.'],
  [
    { reason: Reason.TEMPORARY_FAILURE, retryable: true },
    'refused it for now. You can send it again in a few minutes.',
  ],
  [{ status: REJECTED, reason: Reason.SUPPRESSION_LIST }, 'ann@example.com is on a suppression list'],
  [{ status: REJECTED, reason: Reason.INVALID_ADDRESS }, 'ann@example.com can never receive mail'],
  [{ status: REJECTED, reason: Reason.DOMAIN_NOT_VERIFIED }, 'the domain in From is not verified'],
  [{ reason: LATER_REASON }, 'the mail server of example.com did not accept it.'],
  [{ reason: LATER_REASON, retryable: true }, 'did not accept it. You can send it again in a few minutes.'],
  [{ status: REJECTED, reason: LATER_REASON }, 'nothing was sent to ann@example.com.'],
])('the sentence of %o says what happened', ([change, words]) => {
  expect(shown([outcome(change)])).toContain(words)
})

test('greylisting has its own sentence, and a fault of the server does not have it', () => {
  const outcome = { status: DeliveryStatus.BOUNCED, reason: Reason.TEMPORARY_FAILURE, retryable: true }
  expect(sentenceOf({ ...outcome, smtp: { readAs: 'sender (greylisting)' } }).what).toContain('greylisting')
  // The engine's own reading of such a reply, so that a new name of its rule cannot be forgotten here.
  const { subject, name } = ruleFor({ phase: 'rcpt', reply: replyOf('450 4.2.0 greylisted'), mx: 'mx.example.net' })
  expect(sentenceOf({ ...outcome, smtp: { readAs: `${subject} (${name})` } }).what).toContain('greylisting')
  expect(sentenceOf({ ...outcome, smtp: { readAs: 'session (server trouble)' } }).what).not.toContain('greylisting')
})

test('every reason of the contract has a sentence of its own', () => {
  const reasons = Object.values(Reason).filter((reason) => typeof reason === 'number' && reason !== Reason.UNSPECIFIED)
  const sentences = reasons.map((reason) => sentenceOf({ status: BOUNCED, reason: reason as Reason }).what)
  expect(new Set(sentences).size).toBe(reasons.length)
})

const ANN = outcome({ status: DELIVERED })
const BOB = outcome({ email: 'bob@example.net', reason: Reason.MAILBOX_FULL })

test('with several recipients the sentence is about those who did not get the message', () => {
  expect(shown([ANN, ANN])).toContain('the mail servers of all 2 recipients accepted the message.')
  expect(shown([ANN, BOB])).toContain('the mailbox of bob@example.net is full. The other recipient has it.')
  expect(shown([ANN, BOB, ANN])).toContain('is full. The other 2 have it.')
  const doubt = outcome({ reason: Reason.CONNECTION_TIMEOUT, inDoubt: true })
  const many = [doubt, BOB, BOB, outcome({ status: REJECTED, reason: Reason.SUPPRESSION_LIST }), ANN]
  expect(shown(many)).toContain('of 5 recipients, 1 in doubt, 2 bounced, 1 rejected, and 1 delivered.')
})

test('the sentence of a dry run never says that something was sent', () => {
  expect(shown([ANN], true)).toBe('this was a dry run, and nothing was sent. The message passed every check.')
  expect(shown([BOB], true)).toContain('A send would have bounced: the mailbox of bob@example.net is full.')
  const suppressed = outcome({ status: REJECTED, reason: Reason.SUPPRESSION_LIST })
  expect(shown([suppressed], true)).toContain('would have been rejected: ann@example.com is on a suppression list.')
})

test('an address in a sentence stands apart from its words', () => {
  expect(piecesOf('{address} is full.', '{domain}@example.com')).toEqual([
    { text: '{domain}@example.com', isOutside: true },
    { text: ' is full.', isOutside: false },
  ])
})

test.for<[FeedbackKind, string]>([
  [FeedbackKind.COMPLAINT, 'ann@example.com complained about it.'],
  [FeedbackKind.LATE_BOUNCE, 'the message came back: it did not reach ann@example.com.'],
  [99 as FeedbackKind, 'a report about ann@example.com arrived.'],
])('a report that came after the outcome has a sentence: %o', ([feedback, words]) => {
  expect(later([feedback])).toContain(words)
})

test('of several reports the first has a sentence, and the others are counted', () => {
  const { COMPLAINT, LATE_BOUNCE } = FeedbackKind
  expect(sentenceOfReports([])).toBeUndefined()
  expect(later([COMPLAINT, LATE_BOUNCE])).toContain('complained about it. One more report is below.')
  expect(later([COMPLAINT, LATE_BOUNCE, COMPLAINT])).toContain('2 more reports are below.')
})

function later(kinds: FeedbackKind[]): string {
  const { sentence, about } = sentenceOfReports(kinds.map((feedback) => ({ email: 'ann@example.com', feedback })))!
  return piecesOf([sentence.what, sentence.advice].filter(Boolean).join(' '), about.email)
    .map(({ text }) => text)
    .join('')
}

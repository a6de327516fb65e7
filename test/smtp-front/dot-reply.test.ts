import { create, type MessageInitShape } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DeliveryStatus, Reason, RecipientOutcomeSchema, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import { fail } from '../../server/errors.ts'
import { dotReply } from '../../server/smtp-front/dot-reply.ts'
import { anyCharacter } from '../harness/text.ts'

type Outcome = Omit<MessageInitShape<typeof RecipientOutcomeSchema>, '$typeName'>

const { DELIVERED, BOUNCED, REJECTED } = DeliveryStatus

const result = (outcome: Outcome, email = 'ann@example.net', messageId = 'msg_1') => {
  return { email, messageId, outcome: create(RecipientOutcomeSchema, { email, ...outcome }), sandbox: false }
}
const smtp = (code: number, reply: string, enhanced?: string) => ({
  smtp: { code, reply, enhanced, phase: SmtpPhase.DOT },
})
const text = (...results: ReturnType<typeof result>[]) => {
  const { code, lines } = dotReply(results)
  return lines.map((line) => `${code} ${line}`).join('\n')
}

test.each<[string, Outcome, string]>([
  [
    'an acceptance',
    { status: DELIVERED, ...smtp(250, '2.0.0 queued as 4F', '2.0.0') },
    '250 2.0.0 msg_1: queued as 4F',
  ],
  [
    'an acceptance without an enhanced code',
    { status: DELIVERED, ...smtp(250, 'OK id=1') },
    '250 2.0.0 msg_1: OK id=1',
  ],
  ['a final refusal', { status: BOUNCED, ...smtp(550, '5.1.1 unknown', '5.1.1') }, '550 5.1.1 msg_1: unknown'],
  [
    'a refusal for now',
    { status: BOUNCED, retryable: true, ...smtp(450, '4.2.0 later', '4.2.0') },
    '450 4.2.0 msg_1: later',
  ],
  [
    'a 5xx that is retryable',
    { status: BOUNCED, retryable: true, ...smtp(554, '5.7.1 greylisted', '5.7.1') },
    '454 4.7.1 msg_1: 554 5.7.1 greylisted',
  ],
  ['a 4xx that is final', { status: BOUNCED, ...smtp(452, '4.2.2 full', '4.2.2') }, '552 5.2.2 msg_1: 452 4.2.2 full'],
  ['421', { status: BOUNCED, retryable: true, ...smtp(421, '4.7.0 busy', '4.7.0') }, '451 4.7.0 msg_1: 421 4.7.0 busy'],
  ['codes of two classes', { status: BOUNCED, ...smtp(550, '4.2.2 full', '4.2.2') }, '550 5.2.2 msg_1: 550 4.2.2 full'],
  [
    'no reply',
    {
      status: BOUNCED,
      reason: Reason.CONNECTION_TIMEOUT,
      retryable: true,
      smtp: { phase: SmtpPhase.CONNECT, detail: 'refused' },
    },
    '451 4.4.1 msg_1: refused',
  ],
  ['no server', { status: BOUNCED, reason: Reason.NO_MX_RECORD, smtp: { detail: 'no MX' } }, '550 5.1.2 msg_1: no MX'],
  [
    'a rejection',
    { status: REJECTED, reason: Reason.SUPPRESSION_LIST, detail: 'a@b is suppressed.' },
    '550 5.7.1 msg_1: a@b is suppressed.',
  ],
])('%s has its reply', (_, outcome, expected) => {
  expect(text(result(outcome))).toBe(expected)
})

test('in doubt is final: the message is never sent again', () => {
  expect(text(result({ status: BOUNCED, reason: Reason.CONNECTION_TIMEOUT, inDoubt: true }))).toMatch(
    /^550 5\.4\.7 msg_1: /,
  )
})

test('a dry run says so, whatever it found', () => {
  const dry = { ...result({ status: REJECTED, reason: Reason.SUPPRESSION_LIST }), sandbox: true }
  expect(text({ ...result({ status: DELIVERED }), sandbox: true })).toBe('250 2.0.0 msg_1: dry run, nothing was sent')
  expect(text(dry)).toBe('250 2.0.0 msg_1: dry run, nothing was sent (rejected/suppression_list)')
})

const delivered = result({ status: DELIVERED, ...smtp(250, '2.0.0 ok', '2.0.0') })
const later = result({ status: BOUNCED, retryable: true, ...smtp(450, '4.2.0 later', '4.2.0') }, 'bob@example.net')
const never = result({ status: BOUNCED, ...smtp(550, '5.1.1 unknown', '5.1.1') }, 'cy@example.net')
const worse = result({ status: BOUNCED, ...smtp(554, '5.7.1 no', '5.7.1') }, 'di@example.net', 'msg_2')

const refused = { email: 'eve@example.net', error: fail('rate_limit_exceeded', 'over the quota') }

test('several recipients: temporary while one may be tried again, else 250 when one has it, else the worst 5xx', () => {
  const one = fc.constantFrom(delivered, later, never, worse, refused)
  fc.assert(
    fc.property(fc.array(one, { minLength: 2, maxLength: 100 }), (results) => {
      const { code, lines } = dotReply(results)
      const has = (...some: unknown[]) => results.some((result) => some.includes(result))
      const isOurs = results.every((result) => result === refused)
      const temporary = isOurs ? 452 : 451
      expect(code).toBe(has(later, refused) ? temporary : has(delivered) ? 250 : has(worse) ? 554 : 550)
      if (isOurs) return
      for (const failed of [later, never, worse, refused]) {
        expect(lines.some((line) => line.includes(`${failed.email}: `))).toBe(has(failed))
      }
      for (const id of ['msg_1', 'msg_2']) {
        expect(lines.some((line) => line.includes(id))).toBe(
          results.some((one) => 'messageId' in one && one.messageId === id),
        )
      }
    }),
  )
})

test('several recipients: any delivered and any final is 250, and names those that failed', () => {
  expect(text(delivered, never)).toBe(
    ['250 2.0.0 msg_1: delivered to 1 of 2 recipients, not to:', '250 2.0.0 cy@example.net: 550 5.1.1 unknown'].join(
      '\n',
    ),
  )
})

test('several recipients: any retryable is 451, and counts those that have the message', () => {
  expect(text(Object.assign({}, delivered, { isRepeated: true }), delivered, later)).toBe(
    [
      '451 4.2.0 msg_1: delivered to 2 of 3 recipients, 1 of them already delivered before, not to:',
      '451 4.2.0 bob@example.net: 450 4.2.0 later',
    ].join('\n'),
  )
})

test('several recipients: all delivered is the reply to the first', () => {
  expect(text(delivered, delivered)).toBe('250 2.0.0 msg_1: ok')
})

test('several recipients: none delivered and one retryable is 451', () => {
  expect(text(never, later)).toMatch(/^451 4\.2\.0 msg_1: delivered to none:\n451 4\.2\.0 cy@/)
})

test('several recipients: all final is the worst 5xx, each with its message', () => {
  expect(text(never, worse).split('\n')).toEqual([
    '554 5.7.1 msg_1, msg_2: delivered to none:',
    '554 5.7.1 cy@example.net: 550 5.1.1 unknown',
    '554 5.7.1 msg_2: di@example.net: 554 5.7.1 no',
  ])
})

test('any text of a server fits into lines of 512 octets of ASCII, each with the enhanced code', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 2_000 }), fc.boolean(), (reply, retryable) => {
      const { code, lines } = dotReply([result({ status: BOUNCED, retryable, ...smtp(550, reply, '5.7.1') }), later])
      for (const line of lines) {
        expect(line).toMatch(/^[45]\.\d+\.\d+ [ -~]*$/)
        expect(`${code}-${line}\r\n`.length).toBeLessThanOrEqual(512)
      }
    }),
  )
})

import { create } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DeliveryStatus, Reason, RecipientOutcomeSchema, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import { readAs } from '../../mail/smtp/rules.ts'
import { endingRow, refusedAddresses, summarise, withoutText } from '../../server/sending/outcome.ts'

const { DELIVERED, BOUNCED, REJECTED } = DeliveryStatus

const drawn = fc.record({
  email: fc.constantFrom('Ann@Example.net', 'bob@example.net', 'cy@example.org', 'delivered@simulator.test'),
  status: fc.constantFrom(DELIVERED, BOUNCED, REJECTED),
  reason: fc.constantFrom(Reason.MAILBOX_DOES_NOT_EXIST, Reason.MAILBOX_FULL, Reason.POLICY_BLOCK),
  inDoubt: fc.boolean(),
  mx: fc.constantFrom(undefined, 'mx1.google.com', 'mx.example.net'),
  tried: fc.array(fc.record({ mx: fc.constantFrom('', 'mx2.web.de') }), { maxLength: 2 }),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer Value> ? Value : never

const READ_AS: { [reason in Reason]?: string } = {
  [Reason.MAILBOX_DOES_NOT_EXIST]: readAs({ subject: 'mailbox', row: 'unknown' }),
  [Reason.MAILBOX_FULL]: readAs({ subject: 'space', row: 'full' }),
  [Reason.POLICY_BLOCK]: readAs({ subject: 'sender', row: 'block list' }),
}

const outcomeOf = ({ email, status, reason, inDoubt, mx, tried }: Drawn) =>
  create(RecipientOutcomeSchema, {
    email,
    status,
    reason: status === DELIVERED ? undefined : reason,
    inDoubt: inDoubt ? true : undefined,
    smtp: { mx, tried, readAs: READ_AS[reason] },
  })

const PROVIDERS: Record<string, string> = {
  'mx1.google.com': 'google',
  'mx.example.net': 'example.net',
  'mx2.web.de': 'web.de',
}

test('a bounce about the mailbox counts for its address and the provider that refused it, and nothing else does', () => {
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 4 }), (list) => {
      const { kinds, providers } = refusedAddresses(list.map(outcomeOf))
      const counting = list.filter(
        ({ email, status, reason, inDoubt }) =>
          status === BOUNCED && !inDoubt && !email.endsWith('@simulator.test') && reason !== Reason.POLICY_BLOCK,
      )
      const last = new Map(counting.map((each) => [each.email.toLowerCase(), each]))
      expect([...kinds.keys()].sort()).toEqual([...last.keys()].sort())
      for (const [address, { mx, tried }] of last) {
        const server = mx ?? tried.find(({ mx }) => mx)?.mx ?? ''
        expect(providers.get(address)).toBe(PROVIDERS[server] ?? '')
      }
    }),
  )
})

test('the state of a message is the worst of its recipients, and in doubt where one of them is', () => {
  fc.assert(
    fc.property(fc.array(drawn, { minLength: 1, maxLength: 4 }), (list) => {
      const states = list.map(({ status }) => status)
      const worst = [BOUNCED, REJECTED, DELIVERED].find((status) => states.includes(status))!
      expect(summarise(list.map(outcomeOf))).toEqual({
        status: worst,
        reason: worst === DELIVERED ? undefined : list.find(({ status }) => status === worst)!.reason,
        inDoubt: list.some(({ inDoubt }) => inDoubt) ? true : undefined,
      })
    }),
  )
})

test('without its text from outside an outcome keeps its numbers, and says that the text is gone', () => {
  const detail = 'the text of the reply could not be stored'
  const outcome = create(RecipientOutcomeSchema, {
    email: 'ann@example.net',
    status: BOUNCED,
    reason: Reason.MAILBOX_FULL,
    smtp: {
      mx: 'bad\ud800',
      ip: '192.0.2.1',
      code: 552,
      reply: 'bad\ud800',
      words: 'bad\ud800',
      tried: [{ mx: 'bad\ud800', ip: '192.0.2.2' }],
    },
  })
  const { smtp, ...rest } = withoutText(outcome)
  expect(rest).toMatchObject({ email: 'ann@example.net', status: BOUNCED, reason: Reason.MAILBOX_FULL })
  expect(smtp).toMatchObject({ ip: '192.0.2.1', code: 552, detail, tried: [{ ip: '192.0.2.2', detail }] })
  expect(JSON.stringify(smtp)).not.toContain('bad')
  const untouched = create(RecipientOutcomeSchema, { email: 'ann@example.net', status: REJECTED })
  expect(withoutText(untouched)).toBe(untouched)
})

test('the digest of the content is kept when the whole message went out to a recipient, and only then', () => {
  const content = { sizeBytes: 7, digest: 'd' }
  const phases = Object.values(SmtpPhase).filter((phase) => typeof phase === 'number')
  for (const phase of phases) {
    const early = { status: BOUNCED, reason: Reason.POLICY_BLOCK, smtp: { phase: SmtpPhase.RCPT } }
    const outcomes = [early, { ...early, smtp: { phase } }].map((each) => create(RecipientOutcomeSchema, each))
    const wentOut = phase === SmtpPhase.DOT || phase === SmtpPhase.AFTER_DOT
    expect(endingRow(outcomes, content)).toMatchObject({ size_bytes: 7, digest: wentOut ? 'd' : undefined })
  }
  expect(endingRow([create(RecipientOutcomeSchema, { status: DELIVERED })])).toMatchObject({ size_bytes: 0 })
})

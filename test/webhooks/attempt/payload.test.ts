import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDatabaseClock } from '../../../server/db/clock.ts'
import type { DeliveryEvent, FeedbackEvent } from '../../../server/db/delivery-event.ts'
import { newId } from '../../../server/db/ids.ts'
import { events } from '../../../server/db/schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import type { OutcomeRow } from '../../../server/ledger/rows.ts'
import { createSettle } from '../../../server/ledger/settle.ts'
import { createReadEvent } from '../../../server/webhooks/attempt/begin.ts'
import { payloadOf } from '../../../server/webhooks/attempt/payload.ts'
import { newClaim } from '../../harness/claim.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { anyCharacter } from '../../harness/text.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { newEvent, storeEndpoints } from '../rows.ts'

const database = await testDatabase()
const clock = untilEnd(await createDatabaseClock(database.db))
const accountId = (await createAccount(database.db, clock, 'Test')).id
await storeEndpoints(database, [newEvent(accountId)])

const event = newEvent('01a1fdad-841e-72dd-baea-c02b7820cbac', {
  id: '01a1fdad-841e-72ac-928b-11eba8284d67',
  messageId: '01a1fdad-841e-7299-badc-c323dde4a288',
  payload: 2,
  createdAtMs: 1_795_257_600_999,
})
const SENT = { tag: 'orders "1"', metadata: { b: 'x', 10: 'ten', 9: '💌' }, tenantId: 'shop-1' }
const ACCEPTED = { mx: 'mx.example.net', code: 250, enhanced: '2.0.0', reply: '2.0.0 Ok' }

// These bytes are signed, and posted again for 90 days. They may never change.
test.each([
  [
    { payload: 1, ...SENT, smtp: ACCEPTED },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net"}',
  ],
  [
    { payload: 1, status: 'bounced', reason: 'mailbox_full', recipient: 'jö"@exämple.net' },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"bounced","reason":"mailbox_full","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"jö\\"@exämple.net"}',
  ],
  [
    { payload: 1, sandbox: true, inDoubt: true },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","sandbox":true}',
  ],
  [
    {},
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net"}',
  ],
  [
    { ...SENT, smtp: ACCEPTED },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","smtp":{"mx":"mx.example.net","code":250,"enhanced":"2.0.0","reply":"2.0.0 Ok"},"tag":"orders \\"1\\"","metadata":{"9":"💌","10":"ten","b":"x"},"tenant_id":"shop-1"}',
  ],
  [
    { status: 'bounced', reason: 'temporary_failure', retryable: true, smtp: { code: 451 }, metadata: {} },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"bounced","reason":"temporary_failure","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","smtp":{"code":451},"retryable":true}',
  ],
  [
    { status: 'bounced', reason: 'connection_timeout', inDoubt: true, sandbox: true, smtp: { mx: 'mx.example.net' } },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"bounced","reason":"connection_timeout","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","sandbox":true,"smtp":{"mx":"mx.example.net"},"in_doubt":true}',
  ],
  [
    { status: 'rejected', reason: 'domain_does_not_exist', detail: 'The name has no records.' },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"rejected","reason":"domain_does_not_exist","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","detail":"The name has no records."}',
  ],
] as [Partial<DeliveryEvent>, string][])('the payload of an outcome is these bytes, for ever: %j', (change, bytes) => {
  expect(payloadOf({ ...event, ...change }).toString()).toBe(bytes)
})

const { smtp: _, inDoubt: __, retryable: ___, ...common } = event
const ofFeedback = { smtp: null, isMember: false }
const feedback: FeedbackEvent = {
  ...common,
  ...ofFeedback,
  event: 'email.feedback',
  feedback: 'complaint',
  detail: 'abuse',
}
const READ = { code: 550, enhanced: '5.1.1', reply: '5.1.1 No such user', decided_by: 'words', words: 'No such user' }

/** The same evidence as a row has it: JSON of `verdict.v1.Evidence`. */
const STORED = { ...READ, decided_by: 'DECIDED_BY_WORDS' }

test.each([
  [
    {},
    '{"event":"email.feedback","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","feedback":"complaint","detail":"abuse"}',
  ],
  [
    { ...SENT, feedback: 'late_bounce', reason: 'mailbox_full', detail: null },
    '{"event":"email.feedback","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","reason":"mailbox_full","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","feedback":"late_bounce","tag":"orders \\"1\\"","metadata":{"9":"💌","10":"ten","b":"x"},"tenant_id":"shop-1"}',
  ],
  [
    { feedback: 'late_bounce', reason: 'mailbox_does_not_exist', detail: '550 5.1.1', smtp: READ, isMember: true },
    '{"event":"email.feedback","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","reason":"mailbox_does_not_exist","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","feedback":"late_bounce","detail":"550 5.1.1","smtp":{"code":550,"enhanced":"5.1.1","reply":"5.1.1 No such user","decided_by":"words","words":"No such user"},"member":true}',
  ],
] as [Partial<FeedbackEvent>, string][])('the payload of feedback is these bytes, for ever: %j', (change, bytes) => {
  expect(payloadOf({ ...feedback, ...change }).toString()).toBe(bytes)
})

const text = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 60 }).map((raw) => raw.replaceAll('\0', ''))
const key = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', 'toJSON', '0', '10', '9', '-1', '1.0', '01', '4294967295'),
  fc.stringMatching(/^[A-Za-z0-9_.-]{1,40}$/),
)
const sendArbitrary = fc.record({
  // Object.fromEntries makes `__proto__` a key like any other, as readers of requests do.
  metadata: fc.option(fc.array(fc.tuple(key, text), { maxLength: 20 }).map(Object.fromEntries), { nil: undefined }),
  tag: fc.option(text, { nil: undefined }),
  tenantId: fc.option(fc.constant('shop-1'), { nil: undefined }),
  smtp: fc.option(
    fc.record(
      { mx: text, code: fc.integer({ min: 200, max: 599 }), enhanced: text, reply: text },
      { requiredKeys: [] },
    ),
  ),
  in_doubt: fc.boolean(),
  retryable: fc.boolean(),
  detail: fc.option(text),
})

test('first attempts, made from memory, and later ones, made from the stored rows, have the same bytes', async () => {
  const offered: DeliveryEvent[] = []
  const settle = createSettle(database.db, { leaseMs: 30_000, offer: (event) => void offered.push(event) })
  const read = createReadEvent(database.db)
  const property = fc.asyncProperty(fc.array(sendArbitrary, { minLength: 1, maxLength: 20 }), async (sends) => {
    offered.length = 0
    await Promise.all(
      sends.map(({ metadata, tag, tenantId, ...outcome }) => {
        const claim = newClaim({ accountId, createdAtMs: clock.now(), tenantId, request: { metadata, tag } })
        return settle(claim, { ...ENDING, outcomes: [{ ...OUTCOME, ...outcome }], sandbox: false, checks: undefined })
      }),
    )
    expect(offered).toHaveLength(sends.length)
    for (const event of offered) {
      const stored = await read({ eventId: event.id, messageId: event.messageId })
      // The event is cloned on its way to the thread of first attempts.
      expect(payloadOf(stored!).toString()).toBe(payloadOf(structuredClone(event)).toString())
    }
  })
  await fc.assert(property, { numRuns: 15 })
})

const OUTCOME: OutcomeRow = {
  position: 0,
  status: 'bounced',
  reason: 'mailbox_full',
  retryable: false,
  in_doubt: false,
  smtp: null,
  suppression: null,
  detail: null,
  provider: '',
  refusal: null,
  proof_of_life: false,
  address: 'ann@example.net',
  entry: null,
}
const ENDING = { status: 'bounced', reason: 'mailbox_full', size_bytes: 0, digest: null }

test('an outcome whose message is beyond its retention is not read, because its payload would have other bytes', async () => {
  const read = createReadEvent(database.db)
  const [gone, old, report] = [
    newEvent(accountId, { id: newId(clock.now()) }),
    newEvent(accountId, { payload: 1 }),
    { ...feedback, accountId, id: newId(clock.now()), messageId: newId(clock.now()), smtp: READ, evidence: STORED },
  ]
  // Rows of events alone, as they are when the message's day is dropped.
  for (const one of [gone, old, report]) {
    await database.db.insert(events).values({ ...one, createdAt: new Date(one.createdAtMs) })
  }
  const readBytes = async ({ id, messageId }: typeof gone | typeof report) => {
    const stored = await read({ eventId: id, messageId })
    return stored && payloadOf(stored).toString()
  }
  expect(await readBytes(gone)).toBeUndefined()
  expect(await readBytes(old)).toBe(payloadOf(old).toString())
  expect(await readBytes(report)).toBe(payloadOf(report).toString())
})

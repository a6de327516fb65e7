import { expect, test } from 'vitest'
import { type Evidence, offences } from '../../kills/law.ts'
import { OUR_FAULT } from '../../server/ledger/rows.ts'
import type { RecipientRow } from '../reliability/logs.ts'

// One message to two recipients whose server always says 250, and everything that `npm run kills` must find in it.

const [ann, bob] = ['ann@one.example', 'bob@two.example']
const MESSAGE = { id: 'msg_1', request: 'letter', status: 'delivered', reason: null }
const IN_DOUBT = { status: 'bounced', reason: 'connection_timeout', inDoubt: true }
const OURS = { status: 'bounced', reason: 'temporary_failure', detail: `${OUR_FAULT}no leave for the dot` }

/** What is stored and seen when the recipients end like this. */
function evidenceOf(...outcomes: Partial<RecipientRow>[]): Evidence {
  const recipients = outcomes.map((outcome, i) => ({
    ...{
      message: 'msg_1',
      event: `evt_${i}`,
      email: [ann, bob][i]!,
      status: 'delivered',
      reason: null,
      inDoubt: false,
    },
    ...outcome,
  }))
  const events = recipients.map(({ event, email, status, reason }) => {
    return { id: event, message: 'msg_1', recipient: email, status, reason }
  })
  const dot = { message: 'msg_1', request: 'letter', reply: 250, atMs: 2 }
  const went = recipients.filter(({ status, inDoubt }) => status === 'delivered' || inDoubt)
  return {
    logs: {
      requests: [{ request: 'letter', node: 'node-1', to: [ann, bob], sentAtMs: 1, endedAtMs: 3, lost: 'ECONNRESET' }],
      mail: { rcptAddresses: [ann, bob], dots: went.map(({ email }) => ({ ...dot, to: [email] })) },
      database: [{ atMs: 4, messages: [MESSAGE], recipients, events, open: [] }],
      processes: [],
    },
    markers: went.map(({ email }) => ({ message: 'msg_1', email })),
    mailings: [],
    open: [],
    unanswered: [],
    failedStarts: [],
    committed: ['evt_0', 'evt_1'],
    readers: { gRPC: { received: ['evt_0', 'evt_1'], refusals: [] } },
  }
}

const found = (evidence: Evidence) => offences(evidence).map(({ what }) => what)

test.each([
  ['both delivered', [{}, {}]],
  ['one in doubt', [{}, IN_DOUBT]],
  ['one not tried, by a fault of the service', [{}, OURS]],
])('%s keeps the law', (_, outcomes) => {
  expect(found(evidenceOf(...outcomes))).toEqual([])
})

const NOT_THEIRS = 'an outcome that no server gave: they always say 250'

test.each<[string, Evidence, string]>([
  ['a bounce', evidenceOf({}, { status: 'bounced', reason: 'connection_timeout' }), NOT_THEIRS],
  ['a fault without a name', evidenceOf({}, { ...OURS, detail: undefined }), NOT_THEIRS],
  ['a rejection', evidenceOf({}, { status: 'rejected', reason: 'suppression_list' }), NOT_THEIRS],
  ['faults alone', evidenceOf(OURS, OURS), 'a fault of this service is the outcome of a whole message'],
  ['doubt without a marker', { ...evidenceOf({}, IN_DOUBT), markers: [] }, 'in doubt without a marker'],
  ['a dot without a marker', { ...evidenceOf({}, {}), markers: [] }, 'a dot without a marker'],
  ['a lost event', withReader(['evt_0']), 'the stream over gRPC: 1 missed'],
  ['a doubled event', withReader(['evt_0', 'evt_0', 'evt_1']), 'the stream over gRPC: 1 repeated'],
  ['another order', withReader(['evt_1', 'evt_0']), 'the stream over gRPC: another order from event 0 on'],
  ['a start', { ...evidenceOf({}, {}), failedStarts: ['api-1'] }, 'a start that gave up'],
  ['a key', { ...evidenceOf({}, {}), unanswered: ['k'] }, 'a send with a key that got no response'],
])('%s breaks the law', (_, evidence, what) => {
  expect(found(evidence)).toContain(what)
})

function withReader(received: string[]): Evidence {
  return { ...evidenceOf({}, {}), readers: { gRPC: { received, refusals: [] } } }
}

test.each<[string, Evidence, boolean]>([
  ['a mail with 250 that was delivered', mailed('250 2.0.0 msg_1: queued', {}), true],
  ['a mail with 550 5.4.7 that is in doubt', mailed('550 5.4.7 msg_1: the reply was lost', IN_DOUBT), true],
  ['a mail with 250 that is in doubt', mailed('250 2.0.0 msg_1: queued', IN_DOUBT), false],
  ['a mail with 550 that was delivered', mailed('550 5.1.1 msg_1: unknown', {}), false],
  ['a mail with 550 5.4.7 that was delivered', mailed('550 5.4.7 msg_1: the reply was lost', {}), false],
])('the law is kept by %s: %s', (_, evidence, isKept) => {
  expect(found(evidence)).toEqual(isKept ? [] : ['a reply that is not what became of the recipient'])
})

function mailed(reply: string, outcome: Partial<RecipientRow>): Evidence {
  const mailing = { request: 'letter', door: 'lmtp' as const, to: [ann], replies: { [ann]: reply } }
  return { ...evidenceOf(outcome, {}), mailings: [mailing] }
}

test('a doubled mail breaks the law', () => {
  const evidence = evidenceOf({}, {})
  evidence.logs.mail.dots.push(evidence.logs.mail.dots[0]!)
  expect(found(evidence)).toEqual(['statement 5: one recipient got the same mail twice', 'mailed 2 times'])
})

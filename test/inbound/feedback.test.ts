import { beforeEach, expect, test } from 'vitest'
import { asc } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import {
  events,
  feedback as feedbackRows,
  hourlyStats,
  messages,
  openStats,
  recipients,
  refusals,
  suppressions,
} from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import type { FailedRecipient } from '../../server/inbound/diagnosis.ts'
import { createFeedback } from '../../server/inbound/feedback.ts'
import type { Report } from '../../server/inbound/report.ts'
import { createClaim } from '../../server/ledger/claim.ts'
import { simulatedId } from '../../server/reputation/simulated.ts'
import { testAccount } from '../harness/account.ts'
import { newClaim } from '../harness/claim.ts'

// What a report stores: its feedback and its event, what it says against the address, and its place in the statistics.

const account = await testAccount()
const keep = createFeedback(account)
beforeEach(() => run(account.db, 'truncate feedback, events, suppressions, refusals, hourly_stats, open_stats'))

/** A message that was delivered to these recipients. Returns its return path. */
async function delivered(to: string[], { mx, ...change }: { mx?: string; sandbox?: boolean; tag?: string } = {}) {
  const [id, at] = [newId(account.clock.now()), new Date()]
  const both = { accountId: account.accountId, status: 'delivered' as const }
  const request = { from: 'Shop <hello@example.test>', to, subject: 'Hello', headers: [], attachments: [] }
  const place = { region: 'eu', domain: 'example.test', sandbox: false, tenantId: 'shop-1' }
  await account.db
    .insert(messages)
    .values({ ...both, ...place, ...change, id, sizeBytes: 1, createdAt: at, completedAt: at, request })
  const outcome = { ...both, messageId: id, retryable: false, inDoubt: false, smtp: mx === undefined ? null : { mx } }
  await account.db
    .insert(recipients)
    .values(to.map((email, position) => ({ ...outcome, position, eventId: newId(account.clock.now()), email })))
  return { messageId: id, position: 0 }
}

const failure = (email: string, change: Partial<FailedRecipient> = {}): FailedRecipient => ({
  reason: 'mailbox_does_not_exist',
  kind: 'unknown',
  readAs: 'mailbox (unknown)',
  decidedBy: 'words',
  words: 'user unknown',
  enhanced: '5.1.1',
  code: 550,
  reply: 'User unknown',
  detail: '550 5.1.1 User unknown',
  addresses: [email],
  failedAddress: email,
  ...change,
})
const bounce = (...failures: FailedRecipient[]): Report => ({ kind: 'bounce', failures })
const complaint = (...addresses: string[]): Report => ({ kind: 'complaint', type: 'abuse', addresses })

const stored = () => account.db.select().from(feedbackRows).orderBy(asc(feedbackRows.recipient))
const counted = () =>
  run(account.db, 'select account_id, tenant_id, domain, complaints, late_bounces from hourly_stats order by tenant_id')

test('a late bounce is feedback and an event with its evidence, an incident and an entry; a second one is known', async () => {
  const path = await delivered(['Ann@example.net'])
  expect(await keep(path, bounce(failure('ann@example.net')))).toBe('kept')
  expect(await keep(path, bounce(failure('ann@example.net')))).toBe('known')
  const evidence = {
    ...{ code: 550, enhanced: '5.1.1', reply: 'User unknown', read_as: 'mailbox (unknown)', words: 'user unknown' },
    ...{ phase: 'SMTP_PHASE_LATE', decided_by: 'DECIDED_BY_WORDS' },
  }
  const said = {
    ...{ messageId: path.messageId, recipient: 'Ann@example.net', reason: 'mailbox_does_not_exist' },
    ...{ detail: '550 5.1.1 User unknown', isMember: false, evidence: expect.objectContaining(evidence) },
  }
  expect(await stored()).toMatchObject([{ ...said, kind: 'late_bounce', counted: true }])
  const event = {
    event: 'email.feedback',
    status: 'delivered',
    feedback: 'late_bounce',
    tenantId: 'shop-1',
    kind: 'to',
  }
  expect(await account.db.select().from(events)).toMatchObject([{ ...said, ...event, sandbox: false }])
  expect(await account.db.select().from(refusals)).toMatchObject([{ email: 'ann@example.net', kind: 'unknown' }])
  const bounced = { email: 'ann@example.net', reason: 'bounce', messageId: path.messageId }
  expect(await account.db.select().from(suppressions)).toMatchObject([
    { ...bounced, tenantId: 'shop-1', expiresAt: null, evidence: expect.objectContaining(evidence) },
  ])
})

test('a bounce without a reason or a text says nothing more, and is in no statistics', async () => {
  const path = await delivered(['ann@example.net'])
  expect(await keep(path, bounce({ addresses: [], detail: '' }))).toBe('kept')
  expect(await stored()).toMatchObject([{ reason: null, detail: null }])
  for (const table of [refusals, suppressions, hourlyStats, openStats])
    expect(await account.db.select().from(table)).toEqual([])
})

test.each([
  [['ann@example.net'], null],
  [['ann@example.net', 'bob@example.net'], 30],
])('a complaint about a message to %j suppresses for %j days', async (to, days) => {
  const path = await delivered(to)
  for (const kept of ['kept', 'known']) expect(await keep(path, complaint('ann@example.net'))).toBe(kept)
  expect(await stored()).toMatchObject([{ kind: 'complaint', reason: null, detail: 'abuse', isMember: false }])
  const [entry] = await account.db.select().from(suppressions)
  expect(entry).toMatchObject({ email: 'ann@example.net', reason: 'complaint' })
  const { createdAt, expiresAt } = entry!
  expect(expiresAt && Math.round((expiresAt.getTime() - createdAt.getTime()) / 86_400_000)).toBe(days)
})

test('complaints and unknown mailboxes count for the domain, the tenant and the provider', async () => {
  const path = await delivered(['ann@example.net'], { mx: 'gmail-smtp-in.l.google.com', tag: 'welcome' })
  await keep(path, complaint('ann@example.net'))
  await keep(path, bounce(failure('ann@example.net')))
  const counts = { account_id: account.accountId, domain: 'example.test', complaints: 1, late_bounces: 1 }
  expect([...(await counted())]).toEqual(['', 'shop-1'].map((tenant_id) => ({ ...counts, tenant_id })))
  const { status, provider, tag, recipientDomain } = openStats
  const of = { provider: 'google', tag: 'welcome', recipientDomain: 'example.net' }
  expect(await account.db.select({ status, provider, tag, recipientDomain }).from(openStats)).toEqual(
    expect.arrayContaining([
      { ...of, status: 'complaint' },
      { ...of, status: 'late_bounce' },
    ]),
  )
})

test('what names the simulator counts apart, and suppresses nothing', async () => {
  const email = 'late@simulator.test'
  const path = await delivered([email])
  expect([await keep(path, bounce(failure(email))), await keep(path, complaint(email))]).toEqual(['kept', 'kept'])
  const apart = { account_id: simulatedId(account.accountId), complaints: 1, late_bounces: 1 }
  expect(await counted()).toMatchObject([apart, apart])
  for (const table of [refusals, suppressions]) expect(await account.db.select().from(table)).toEqual([])
})

test('the failure of another mailbox is stored as that of a member, and says nothing of the recipient', async () => {
  const path = await delivered(['team@example.net'])
  expect(await keep(path, bounce(failure('ann@elsewhere.example')))).toBe('kept')
  expect(await stored()).toMatchObject([{ recipient: 'team@example.net', isMember: true, counted: false }])
  expect(await account.db.select().from(refusals)).toEqual([])
  // The failure of the recipient itself is news.
  expect(await keep(path, bounce(failure('team@example.net')))).toBe('kept')
  expect(await account.db.select().from(refusals)).toMatchObject([{ email: 'team@example.net' }])
})

test('what names the recipient goes before what names another address', async () => {
  const path = await delivered(['ann@example.net'])
  const other = failure('team@example.org', { reason: 'policy_block', kind: undefined })
  await keep(path, bounce(other, failure('ANN@example.net', { reason: 'mailbox_full', kind: 'full' }), other))
  expect(await stored()).toMatchObject([{ reason: 'mailbox_full' }])
})

test('a report of several recipients is stored for each that it names, once', async () => {
  const path = await delivered(['ann@example.net', 'bob@example.net', 'cy@example.net'])
  const reported = ['bob@example.net', 'ann@example.net', 'dan@example.net', 'bob@example.net']
  expect(await keep(path, bounce(...reported.map((email) => failure(email))))).toBe('kept')
  expect((await stored()).map(({ recipient }) => recipient)).toEqual(['ann@example.net', 'bob@example.net'])
  // Another recipient may have written it.
  expect((await account.db.select().from(refusals)).map(({ kind }) => kind)).toEqual(['refused', 'refused'])
})

test.each([
  [{ kind: 'unread' }],
  [{ kind: 'none', why: 'it is something else' }],
  [{ kind: 'bounce', failures: [] }],
  [{ kind: 'bounce', failures: [failure('bob@example.net')] }],
  [{ kind: 'complaint', type: 'abuse', addresses: ['redacted'] }],
] as [Report][])('the report %j is about no recipient', async (report) => {
  expect(await keep(await delivered(['ann@example.net', 'cy@example.net']), report)).toBe('no_recipient')
  expect(await stored()).toEqual([])
})

test('a report about a dry run, a message that is unknown or too old, or one on its way is not stored', async () => {
  const report = complaint('ann@example.net')
  expect(await keep(await delivered(['ann@example.net'], { sandbox: true }), report)).toBe('no_recipient')
  const now = account.clock.now()
  for (const at of [now, now - 91 * 86_400_000]) {
    expect(await keep({ messageId: newId(at), position: 0 }, report)).toBe('unknown')
  }
  const running = newClaim({ accountId: account.accountId })
  await createClaim(account.db)(running)
  expect(await keep({ messageId: running.messageId, position: 0 }, report)).toBe('running')
  expect(await stored()).toEqual([])
})

test.each([
  [39, 1],
  [40, 2],
])('of the reports about a message to %i recipients the breaker counts %i', async (count, most) => {
  const to = Array.from({ length: count }, (_, i) => `user${i}@example.net`)
  const path = await delivered(to)
  for (const email of to.slice(0, 3)) await keep(path, complaint(email))
  expect((await stored()).filter(({ counted }) => counted)).toHaveLength(most)
})

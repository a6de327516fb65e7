import { beforeEach, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { asc, sql } from '../../server/db/drizzle.ts'
import { feedback as feedbackRows, hourlyStats, refusals, suppressions } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { makeReturnPath } from '../../server/domains/return-path.ts'
import { createFeedback } from '../../server/inbound/feedback.ts'
import type { Report } from '../../server/inbound/report.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { mx } from '../harness/dns.ts'
import { oldReturnPath } from './old-return-path.ts'
import { arf, bounceOf, dsn } from './report-forms.ts'
import { startInboundWorld } from './world.ts'

// A recipient knows the return path of the message that they got, and writes reports about other recipients.

/** The exchanger of `example.net` has other domains, too. */
const NEIGHBOURS = ['mallory.org', 'victim.org', ...Array.from({ length: 37 }, (_, i) => `victim${i}.org`)]

const zone = NEIGHBOURS.map((name) => [`MX ${name}`, [mx(name, 10, 'mx.example.net')]])
const world = await startInboundWorld({}, Object.fromEntries(zone))
beforeEach(async () => {
  await run(world.db, 'truncate feedback, suppressions, refusals, hourly_stats, breakers')
  world.received.length = 0
  world.exchanger.messages.length = 0
})

const complaintOf = (email: string) => arf({ fields: `Original-Rcpt-To: ${email}\n` })

/** The return path that the server of a domain got with the last message. */
const pathFor = (domain: string) => world.exchanger.messages.find(({ to }) => to[0]!.endsWith(`@${domain}`))!.from
const emailsOf = (rows: { email: string }[]) => rows.map(({ email }) => email)
const reported = async () =>
  emailsOf(
    await world.db.select({ email: feedbackRows.recipient }).from(feedbackRows).orderBy(asc(feedbackRows.recipient)),
  )
const refused = async () => {
  const { email, kind } = refusals
  const rows = await world.db.select({ email, kind }).from(refusals).orderBy(asc(email))
  return rows.map(({ email, kind }) => [email, kind])
}
const suppressed = async () =>
  emailsOf(await world.db.select({ email: suppressions.email }).from(suppressions).orderBy(asc(suppressions.email)))
const results = () => world.received.map(({ kept }) => kept)

/** The reports in the statistics, and those that the breaker counts. */
async function counts() {
  const breaker = createBreaker({ db: world.db, limits: DEFAULT_LIMITS })
  const rates = (await breaker.rates(world.account.id, ['example.test'])).get('example.test')!
  const total = sql<number>`coalesce(sum(complaints + late_bounces), 0)::int`
  const [row] = await world.db.select({ total }).from(hourlyStats)
  return { statistics: row!.total, breaker: rates.bounces + rates.complaints }
}

test('each recipient domain gets a return path of its own', async () => {
  await world.sendMessage({ to: ['ann@victim.org', 'bob@example.net', 'cy@victim.org', 'dan@mallory.org'] })
  const paths = world.exchanger.messages.map(({ from, to }) => [from.slice(28, 30), ...to]).sort()
  expect(paths).toEqual([
    ['00', 'ann@victim.org', 'cy@victim.org'],
    ['01', 'bob@example.net'],
    ['03', 'dan@mallory.org'],
  ])
})

test('reports by one of 40 recipients about recipients of other domains change nothing', async () => {
  const victims = NEIGHBOURS.slice(1).map((domain) => `ann@${domain}`)
  await world.sendMessage({ to: ['me@mallory.org', ...victims, 'bob@example.net'] })
  const path = pathFor('mallory.org')
  for (const victim of victims.slice(0, 3)) await world.bounce(path, complaintOf(victim))
  await world.bounce(path, bounceOf(...victims, 'bob@example.net'))
  await world.bounce(
    'fbl@rp.example.test',
    arf({ fields: 'Original-Rcpt-To: ann@victim.org\n', original: `Return-Path: <${path}>\n` }),
  )
  // With one recipient of the domain, it is meant whatever address the report names.
  expect([...new Set(await reported())]).toEqual(['me@mallory.org'])
  expect(await suppressed()).toEqual(['me@mallory.org'])
  // The bounce names other mailboxes than that of the recipient, so the breaker counts the complaint alone.
  expect(await counts()).toEqual({ statistics: 2, breaker: 1 })
})

test('a report about a recipient of another domain is about no recipient when two have the own domain', async () => {
  await world.sendMessage({ to: ['me@mallory.org', 'me2@mallory.org', 'ann@victim.org'] })
  const path = pathFor('mallory.org')
  for (const mail of [bounceOf('ann@victim.org'), complaintOf('ann@victim.org'), arf({})])
    await world.bounce(path, mail)
  expect(results()).toEqual(['no_recipient', 'no_recipient', 'no_recipient'])
  expect([await reported(), await suppressed()]).toEqual([[], []])
})

test('a report about the only recipient of a domain may hide the address, also when the message had others', async () => {
  await world.sendMessage({ to: ['ann@victim.org', 'bob@example.net', 'cy@example.net'] })
  await world.bounce(pathFor('victim.org'), complaintOf('redacted'))
  await world.bounce(pathFor('example.net'), complaintOf('redacted'))
  expect(results()).toEqual(['kept', 'no_recipient'])
  expect(await reported()).toEqual(['ann@victim.org'])
})

test('a report about recipients of the own domain counts as doubtful, in any case of the domain', async () => {
  await world.sendMessage({ to: ['ann@example.net', 'bob@EXAMPLE.net', 'cy@victim.org'] })
  await world.bounce(pathFor('example.net'), bounceOf('ANN@Example.NET', 'bob@example.net'))
  expect(await suppressed()).toEqual([])
  expect(await refused()).toEqual([
    ['ann@example.net', 'refused'],
    ['bob@example.net', 'refused'],
  ])
})

test('the position in a token is proved: another one is refused at RCPT', async () => {
  await world.sendMessage({ to: ['me@mallory.org', 'ann@victim.org'] })
  const path = pathFor('mallory.org')
  const forged = `${path.slice(0, 28)}01${path.slice(30)}`
  expect(await world.bounce(forged, bounceOf('ann@victim.org'))).toBe('550 5.7.1 No relay')
})

test('a proved position that the message does not have is about no recipient', async () => {
  const { id } = await world.sendMessage()
  const path = `${makeReturnPath(world.returnPathKeys[0], id, 7)}@rp.example.test`
  await world.bounce(path, bounceOf('ann@example.net'))
  expect(results()).toEqual(['no_recipient'])
})

test('one recipient of several cannot erase another: an address of version 0.1 is that of all of them', async () => {
  const same = await world.sendMessage({ to: ['ann@example.net', 'bob@example.net'] })
  const several = await world.sendMessage({ to: ['cy@example.net', 'dan@victim.org'] })
  const oldPath = (id: string) => `${oldReturnPath(world.returnPathKeys[0], id)}@rp.example.test`
  await world.bounce(oldPath(same.id), bounceOf('bob@example.net'))
  await world.bounce(oldPath(several.id), bounceOf('cy@example.net', 'dan@victim.org'))
  await world.bounce(oldPath(several.id), complaintOf('dan@victim.org'))
  expect(results()).toEqual(['kept', 'kept', 'kept'])
  expect(await reported()).toEqual(['bob@example.net', 'cy@example.net', 'dan@victim.org', 'dan@victim.org'])
  // The complaint, for 30 days.
  expect(await suppressed()).toEqual(['dan@victim.org'])
  expect(await refused()).toEqual([
    ['bob@example.net', 'refused'],
    ['cy@example.net', 'refused'],
    ['dan@victim.org', 'refused'],
  ])
  expect(await counts()).toEqual({ statistics: 4, breaker: 2 })
})

const recipientsOf = (count: number) => Array.from({ length: count }, (_, i) => `user${i}@example.net`)

test.each([
  [3, 1],
  [39, 1],
  [40, 2],
  [50, 2],
])(
  'all reports of a message to %i recipients count %i times for the breaker, and all in the statistics',
  async (recipients, most) => {
    const to = recipientsOf(recipients)
    const { returnPath } = await world.sendMessage({ to })
    await world.bounce(returnPath, bounceOf(...to.slice(0, 3)))
    expect(await counts()).toEqual({ statistics: 3, breaker: 1 })
    for (const email of to.slice(0, 3)) await world.bounce(returnPath, complaintOf(email))
    expect(await counts()).toEqual({ statistics: 6, breaker: most })
  },
)

test('a repeated report counts once', async () => {
  const to = recipientsOf(50)
  const { returnPath } = await world.sendMessage({ to })
  for (let i = 0; i < 3; i++) await world.bounce(returnPath, bounceOf(...to.slice(0, 2)))
  expect(results()).toEqual(['kept', 'known', 'known'])
  expect(await counts()).toEqual({ statistics: 2, breaker: 1 })
})

test('reports that say nothing about the list do not use up what counts', async () => {
  const { returnPath } = await world.sendMessage({ to: recipientsOf(3) })
  const full =
    'Final-Recipient: rfc822; user0@example.net\nAction: failed\nStatus: 5.2.2\nDiagnostic-Code: smtp; 552 5.2.2 Over quota'
  await world.bounce(returnPath, dsn({ fields: [full] }))
  await world.bounce(returnPath, complaintOf('user1@example.net'))
  expect(await counts()).toEqual({ statistics: 1, breaker: 1 })
})

test('the bound is exact when the reports of a message arrive at many processes at once', async () => {
  const to = recipientsOf(40)
  const { id } = await world.sendMessage({ to })
  // Each step is what one process runs; within one process reports take turns.
  const keep = createFeedback(world)
  const reports = to.flatMap((email): Report[] => [
    { kind: 'complaint', type: 'abuse', addresses: [email] },
    {
      kind: 'bounce',
      failures: [{ addresses: [email], reason: 'mailbox_does_not_exist', enhanced: '5.1.1', detail: 'no' }],
    },
  ])
  const kept = await Promise.all(reports.map((report) => keep({ messageId: id, position: 0 }, report)))
  expect(new Set(kept)).toEqual(new Set(['kept']))
  expect(await counts()).toEqual({ statistics: 80, breaker: 2 })
})

test('three forged reports of one message do not pause the domain', async () => {
  const sent = { accountId: world.account.id, tenantId: '', domain: 'example.test', shard: 1, delivered: 100 }
  await world.db.insert(hourlyStats).values({ ...sent, hour: sql`date_trunc('hour', now(), 'UTC')` })
  const to = recipientsOf(40)
  const { returnPath } = await world.sendMessage({ to })
  for (const each of [0, 1, 2]) await world.bounce(returnPath, bounceOf(...to.slice(each * 13, each * 13 + 13)))
  const breaker = createBreaker({ db: world.db, limits: DEFAULT_LIMITS })
  expect((await breaker.peek(world.account.id, 'example.test')).state).toBe('active')
})

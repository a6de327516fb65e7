import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { asc, eq, sql } from '../../server/db/drizzle.ts'
import {
  breakers,
  feedback as feedbackRows,
  hourlyStats,
  messages,
  refusals,
  suppressions,
} from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { makeReturnPath } from '../../server/domains/return-path.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { readStatistics } from '../../server/reputation/statistics.ts'
import { script } from '../sending/world.ts'
import * as bounces from './bounces.ts'
import { arf, dsn } from './report-forms.ts'
import { startInboundWorld } from './world.ts'

const TAKEN = '250 2.0.0 Thank you'

const world = await startInboundWorld()
beforeEach(async () => {
  await run(world.db, 'truncate feedback, suppressions, refusals, hourly_stats, open_stats')
  world.received.length = 0
})

const failed = (status: string, diagnostic: string, email = 'ann@example.net') =>
  dsn({
    fields: [`Final-Recipient: rfc822; ${email}\nAction: failed\nStatus: ${status}\nDiagnostic-Code: ${diagnostic}`],
  })
const complaint = (fields = 'Original-Rcpt-To: ann@example.net\n') => arf({ fields })

async function feedback() {
  const { messageId, recipient, kind, reason, detail } = feedbackRows
  const columns = { messageId, recipient, kind, reason, detail }
  return world.db.select(columns).from(feedbackRows).orderBy(asc(recipient), asc(kind))
}
async function entries() {
  const { email, tenantId, reason, messageId, detail, expiresAt } = suppressions
  const stays = sql<boolean>`${expiresAt} is null`
  return world.db.select({ email, tenantId, reason, messageId, detail, stays }).from(suppressions).orderBy(asc(email))
}
async function counts() {
  const { accountId, tenantId, domain } = hourlyStats
  const [complaints, lateBounces] = [sql<number>`complaints`, sql<number>`late_bounces`]
  return world.db
    .select({ tenantId, domain, complaints, lateBounces })
    .from(hourlyStats)
    .where(sql`${accountId} = ${world.account.id} and ${complaints} + ${lateBounces} > 0`)
    .orderBy(asc(tenantId))
}
const messageRows = (id: string) => world.db.select().from(messages).where(eq(messages.id, id))

test('a late bounce is stored beside its message, suppresses the address and counts for the domain', async () => {
  const { id, returnPath } = await world.sendMessage()
  const before = await messageRows(id)
  expect(await world.bounce(returnPath, bounces.POSTFIX)).toBe(TAKEN)
  const detail = '550 5.1.1 <ann@example.net>: Recipient address rejected: User unknown in virtual mailbox table'
  expect(await feedback()).toEqual([
    { messageId: id, recipient: 'ann@example.net', kind: 'late_bounce', reason: 'mailbox_does_not_exist', detail },
  ])
  expect(await entries()).toEqual([
    { email: 'ann@example.net', tenantId: '', reason: 'bounce', messageId: id, detail, stays: true },
  ])
  expect(await counts()).toEqual([{ tenantId: '', domain: 'example.test', complaints: 0, lateBounces: 1 }])
  expect(await messageRows(id)).toEqual(before)
  expect(world.received).toEqual([{ messageId: id, report: 'bounce', kept: 'kept' }])
})

test('two reports at the same moment are stored once too', async () => {
  const { id } = await world.sendMessage()
  const to = `${makeReturnPath(world.returnPathKeys[0], id, 0)}@rp.example.test`
  const replies = await Promise.all(Array.from({ length: 8 }, () => world.bounce(to, bounces.POSTFIX)))
  expect(new Set(replies)).toEqual(new Set([TAKEN]))
  expect(await feedback()).toHaveLength(1)
  expect(await counts()).toMatchObject([{ lateBounces: 1 }])
})

/** Days pass for the refusals that are stored, and not for what was delivered. */
const daysPass = (days: number) =>
  world.db.update(refusals).set({ createdAt: sql`created_at - ${days} * interval '1 day'` })

test.each([
  ['5.2.1', 'smtp; 550 5.2.1 Disabled', 2],
  ['5.0.0', 'smtp; 550 mailbox unavailable', 2],
  ['5.2.2', 'smtp; 552 5.2.2 Over quota', 3],
])('%s suppresses for some days, as a reply does: %s, at incident %i', async (status, diagnostic, at) => {
  const email = `${randomUUID()}@example.net`
  for (let n = 1; n <= at; n++) {
    expect(await entries()).toEqual([])
    await daysPass(2)
    await world.bounce((await world.sendMessage({ to: [email] })).returnPath, failed(status, diagnostic, email))
  }
  expect(await entries()).toMatchObject([{ email, reason: 'bounce', stays: false }])
})

test('refusals of replies and of late bounces count together', async () => {
  const email = `${randomUUID()}@example.net`
  const { returnPath } = await world.sendMessage({ to: [email] })
  script(world, { rcpt: '550 5.2.1 Disabled' })
  await world.sendMessage({ to: [email] })
  await daysPass(2)
  expect(await entries()).toEqual([])
  await world.bounce(returnPath, failed('5.2.1', 'smtp; 550 5.2.1 Disabled', email))
  expect(await entries()).toMatchObject([{ email, stays: false }])
})

test('a message that was delivered before keeps its address alive; the message that came back does not', async () => {
  const email = `${randomUUID()}@example.net`
  const first = await world.sendMessage({ to: [email] })
  const second = await world.sendMessage({ to: [email] })
  await world.bounce(second.returnPath, failed('5.1.1', 'smtp; 550 5.1.1 User unknown', email))
  expect(await entries()).toMatchObject([{ email, stays: false }])
  // Both came back, so nothing is left that shows a living address.
  await world.bounce(first.returnPath, failed('5.1.1', 'smtp; 550 5.1.1 User unknown', email))
  expect(await entries()).toMatchObject([{ email, stays: true }])
})

test.each([
  ['5.7.1', 'smtp; 550 5.7.1 Refused, says our policy'],
  ['4.4.7', 'x-local; gave up'],
  ['5.4.4', 'smtp; 554 5.4.4 no route'],
])('a refusal that is not about the mailbox is stored and suppresses no address: %s', async (status, diagnostic) => {
  await world.bounce((await world.sendMessage()).returnPath, failed(status, diagnostic))
  expect(await feedback()).toHaveLength(1)
  expect(await entries()).toEqual([])
  expect(await counts()).toEqual([])
})

test.each([
  ['bob@elsewhere.example', 'a member of the alias that we sent to', []],
  ['ann@gmail.com', 'where the alias leads', []],
  ['ann@mail.example.net', 'the name of the recipient at its own server, which may be a member', ['refused']],
  ['ANN+orders@Example.net', 'the recipient', ['unknown']],
])('a report of the only recipient that names %s is about %s', async (address, _, kinds) => {
  const { returnPath } = await world.sendMessage()
  await world.bounce(returnPath, failed('5.1.1', 'smtp; 550 5.1.1 user unknown', address))
  expect(await feedback()).toMatchObject([{ recipient: 'ann@example.net', reason: 'mailbox_does_not_exist' }])
  const counted = await world.db.select({ kind: refusals.kind }).from(refusals)
  expect(counted.map(({ kind }) => kind)).toEqual(kinds)
})

test('feedback about a recipient whose server had refused is ignored; about one in doubt it counts', async () => {
  const { id } = await world.sendMessage()
  script(world, { rcpt: '550 5.7.1 No' })
  const refused = await world.sendMessage()
  script(world, { dot: 'close' })
  const doubtful = await world.sendMessage()
  const to = (id: string) => `${makeReturnPath(world.returnPathKeys[0], id, 0)}@rp.example.test`
  for (const each of [id, refused.id, doubtful.id]) await world.bounce(to(each), failed('5.3.0', 'smtp; 554 5.3.0 no'))
  expect(world.received.map(({ kept }) => kept)).toEqual(['kept', 'no_recipient', 'kept'])
})

test('the sender of a bounce that is faster than the outcome is told to try again', async () => {
  const isToldToWait = Promise.withResolvers<void>()
  script(world, { dot: { after: isToldToWait.promise, act: '250 queued' } })
  const sending = world.sendMessage()
  await expect.poll(() => world.exchanger.messages.length, { interval: 10 }).toBe(1)
  const early = world.exchanger.messages[0]!.from
  expect(await world.bounce(early, bounces.POSTFIX)).toBe('451 4.3.0 Not now, come again')
  isToldToWait.resolve()
  await sending
  expect(await world.bounce(early, bounces.POSTFIX)).toBe(TAKEN)
  expect(await feedback()).toHaveLength(1)
})

test('mail that is no report is accepted and ignored', async () => {
  const { returnPath } = await world.sendMessage()
  expect(await world.bounce(returnPath, bounces.OUT_OF_OFFICE, 'ann@example.net')).toBe(TAKEN)
  expect(await world.bounce(returnPath, '')).toBe(TAKEN)
  expect(world.received.map(({ report }) => report)).toEqual(['none', 'none'])
})

test('the id of a message is not enough: without its MAC no report is accepted', async () => {
  const { messageId } = await world.sendMessage()
  const id = messageId.slice(4)
  for (const local of [`b+${id}000123456789abcdef`, `b.${id}.0123456789abcdef`]) {
    expect(await world.bounce(`${local}@rp.example.test`, bounces.POSTFIX)).toBe('550 5.7.1 No relay')
  }
})

// The last test: the breaker of the domain stays paused.
test('late bounces and complaints open the breaker, and the statistics show them separately', async () => {
  const { db, account } = world
  const key = { accountId: account.id, tenantId: '', domain: 'example.test', shard: 1 }
  const sent = { ...key, hour: sql`date_trunc('hour', now(), 'UTC')`, delivered: 95 }
  await db.insert(hourlyStats).values(sent)
  const state = () => createBreaker({ db, limits: DEFAULT_LIMITS }).peek(account.id, 'example.test')
  const paths: string[] = []
  for (let i = 0; i < 10; i++) {
    // A suppressed address is never mailed again.
    paths.push((await world.sendMessage({ to: [`user${i}@example.net`] })).returnPath)
  }
  expect((await state()).state).toBe('active')
  for (const path of paths.slice(0, 2)) await world.bounce(path, complaint('Original-Rcpt-To: redacted\n'))
  expect((await state()).state).toBe('throttled')
  await world.bounce(paths[2]!, complaint('Original-Rcpt-To: redacted\n'))
  expect((await state()).state).toBe('paused')
  expect(await db.select({ cause: breakers.cause }).from(breakers)).toEqual([{ cause: 'complaints' }])
  await db.delete(breakers)
  // The breaker counts one report of a message.
  await run(db, 'truncate feedback')
  const reset: Record<string, number> = { complaints: 0 }
  await db.update(hourlyStats).set(reset)
  for (const [i, path] of paths.entries())
    await world.bounce(path, failed('5.1.1', 'smtp; 550 5.1.1 no such user', `user${i}@example.net`))
  const total = sql<number>`sum(delivered)::int`
  expect(await db.select({ total }).from(hourlyStats)).toEqual([{ total: 105 }])
  expect((await state()).state).toBe('throttled')
  await world.bounce(
    (await world.sendMessage({ to: ['last@example.net'] })).returnPath,
    failed('5.1.1', 'smtp; 550 5.1.1 no such user', 'last@example.net'),
  )
  expect((await state()).state).toBe('paused')
  const hour = Math.floor(world.clock.now() / 3_600_000) * 3_600_000
  const question = { accountId: account.id, from: hour - 3_600_000, to: hour + 3_600_000, stepMs: 7_200_000 }
  expect(await readStatistics(db, question)).toMatchObject({ delivered: 106, bounced: 0, lateBounces: 11 })
})

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { BOUNCE_REASONS } from '../../mail/smtp/attempt.ts'
import { firstIdAt, newId } from '../../server/db/ids.ts'
import { feedback, messages, recipients, suppressions } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { recheckSuppressions } from '../../server/inbound/recheck.ts'
import { testDatabase } from '../harness/postgres.ts'

const DAY_MS = 86_400_000
const ACCOUNT = randomUUID()
const EMAIL = 'ann@example.net'
const ago = (days: number) => Date.now() - days * DAY_MS

const database = await testDatabase()
beforeAll(async () => {
  // The days before yesterday.
  const bounds = `from ('${firstIdAt(0)}') to ('${firstIdAt(Math.floor(ago(1) / DAY_MS) * DAY_MS)}')`
  for (const table of ['messages', 'recipients'])
    await run(database.db, `create table ${table}_before partition of ${table} for values ${bounds}`)
})
beforeEach(() => run(database.db, 'truncate messages, recipients, feedback, suppressions'))

interface Sent {
  days: number
  smtp?: { code?: number; enhanced?: string; reply?: string; phase: string; mx?: string }
  reason?: string
  email?: string
  status?: 'delivered' | 'bounced'
  tenantId?: string
  accountId?: string
}

/** A message that was sent this many days ago. Returns the id of its event. */
async function sent({ days, smtp, email = EMAIL, status = 'bounced', tenantId, accountId = ACCOUNT, ...more }: Sent) {
  const { reason = status === 'bounced' ? 'mailbox_does_not_exist' : undefined } = more
  const atMs = ago(days)
  const [id, eventId, at] = [newId(atMs), newId(atMs), new Date(atMs)]
  const both = { accountId, status }
  const request = { from: 'hello@example.test', to: [email], subject: 'Hello', headers: [], attachments: [] }
  const place = { region: 'eu', domain: 'example.test', sandbox: false, tenantId }
  await database.db
    .insert(messages)
    .values({ ...both, ...place, id, sizeBytes: 1, createdAt: at, completedAt: at, request })
  const outcome = { retryable: false, inDoubt: false, reason, smtp }
  await database.db.insert(recipients).values({ ...both, ...outcome, messageId: id, position: 0, eventId, email })
  return { id, eventId }
}

/** A refusal this many days ago, and the entry that it made. */
async function entry(refusal: Sent) {
  const { id, eventId } = await sent(refusal)
  await suppress(eventId, id, refusal)
}
async function suppress(
  id: string,
  messageId: string,
  { days, email = EMAIL, tenantId = '', accountId = ACCOUNT }: Sent,
) {
  const createdAt = new Date(ago(days))
  await database.db
    .insert(suppressions)
    .values({ id, messageId, accountId, tenantId, email: email.toLowerCase(), reason: 'bounce', createdAt })
}

const recheck = (scope = {}, ours: string[] = []) => recheckSuppressions(database.db, scope, ours)
/** How the entries are read that would not hold. */
const readings = async () => (await recheck()).doubtful.map(({ readAs }) => readAs)

const RCPT = 'SMTP_PHASE_RCPT'
const UNKNOWN = { code: 550, enhanced: '5.1.1', reply: 'User unknown', phase: RCPT }
const DISABLED = { code: 550, enhanced: '5.2.1', reply: 'Disabled', phase: RCPT }

test.each([
  [UNKNOWN, undefined],
  [{ code: 550, reply: '5.1.1 User unknown', phase: RCPT }, undefined],
  [{ ...UNKNOWN, reply: 'Your host is blocked' }, ['sender (host)', '550 5.1.1 Your host is blocked']],
  [{ code: 550, reply: 'Your host is blocked', phase: RCPT }, ['sender (host)', '550 Your host is blocked']],
  [{ ...UNKNOWN, phase: 'SMTP_PHASE_MAIL' }, ['sender (refused before any recipient)', '550 5.1.1 User unknown']],
  [{ ...UNKNOWN, reply: 'example.test is unknown' }, ['sender (our name)', '550 5.1.1 example.test is unknown']],
  [{ ...UNKNOWN, reply: 'mx.ours.test is unknown' }, ['sender (our name)', '550 5.1.1 mx.ours.test is unknown']],
  [{ phase: RCPT }, ['nothing', '']],
  [{ code: 550, phase: RCPT }, ['mailbox (refused without words)', '550']],
])('an entry of the reply %j is read today: %j', async (smtp, doubt) => {
  await entry({ days: 2, smtp })
  const { judged, unknown, doubtful } = await recheck({}, ['mx.ours.test'])
  expect([judged, unknown]).toEqual([1, 0])
  expect(doubtful.map(({ readAs, reply }) => [readAs, reply])).toEqual(doubt ? [doubt] : [])
})

test('a reply holds an entry only where its outcome was about the mailbox, and is so today', async () => {
  const world = fc.record({ reason: fc.constantFrom(...BOUNCE_REASONS), code: fc.constantFrom(450, 550) })
  await fc.assert(
    fc.asyncProperty(world, async ({ reason, code }) => {
      await run(database.db, 'truncate messages, recipients, suppressions')
      await entry({ days: 2, reason, smtp: { ...UNKNOWN, code } })
      const { unknown, doubtful } = await recheck()
      const isHeld = code === 550 && (reason === 'mailbox_does_not_exist' || reason === 'mailbox_full')
      expect([unknown, doubtful.length]).toEqual([0, isHeld ? 0 : 1])
    }),
    { numRuns: 30 },
  )
})

test('an exchanger of a known provider is read as such', async () => {
  const reply = 'Recipient address rejected: Access denied'
  await entry({ days: 2, smtp: { ...UNKNOWN, enhanced: '5.4.1', reply, mx: 'x.mail.protection.outlook.com' } })
  expect(await readings()).toEqual(['mailbox (not in the directory)'])
})

test('the list of doubtful entries has the account, tenant, address and time of each', async () => {
  const email = 'Ann@example.net'
  await entry({ days: 2, email, tenantId: 'shop-1', smtp: { ...UNKNOWN, reply: 'Your host is blocked' } })
  const { doubtful } = await recheck()
  const createdAt = expect.any(Date)
  expect(doubtful).toMatchObject([{ accountId: ACCOUNT, tenantId: 'shop-1', email: 'ann@example.net', createdAt }])
  expect(Math.abs(doubtful[0]!.createdAt.getTime() - ago(2))).toBeLessThan(60_000)
})

test.each([
  ['550 5.1.1 User unknown', []],
  ['User unknown', [['mailbox (unknown, says the reporter)', 'User unknown']]],
  ['550 5.7.1 example.test is unknown', [['sender (our name)', '550 5.7.1 example.test is unknown']]],
  [null, [['nothing', '']]],
])('an entry of the late bounce "%s" is read today: %j', async (detail, expected) => {
  const { id } = await sent({ days: 2, status: 'delivered' })
  const bounce = { accountId: ACCOUNT, recipient: EMAIL, kind: 'late_bounce' as const, detail }
  const bounceId = newId(ago(1))
  await database.db.insert(feedback).values({ ...bounce, id: bounceId, messageId: id })
  await suppress(bounceId, id, { days: 1 })
  expect((await recheck()).doubtful.map(({ readAs, reply }) => [readAs, reply])).toEqual(expected)
})

test('refusals of two days hold for 30 days, and those of another list, address or account add nothing', async () => {
  const refused = async (change: Partial<Sent>, days = 2) => {
    await run(database.db, 'truncate messages, recipients, suppressions')
    await sent({ days: days + 2, smtp: DISABLED, ...change })
    await entry({ days, smtp: DISABLED })
    return readings()
  }
  const doubtful = ['mailbox (disabled)']
  expect(await refused({})).toEqual([])
  expect(await refused({ email: 'ANN@example.net' })).toEqual([])
  expect(await refused({}, 29)).toEqual([])
  expect(await refused({}, 31)).toEqual(doubtful)
  expect(await refused({ days: 2 })).toEqual(doubtful)
  expect(await refused({ days: 40 })).toEqual(doubtful)
  expect(await refused({ tenantId: 'shop-1' })).toEqual(doubtful)
  expect(await refused({ email: 'bob@example.net' })).toEqual(doubtful)
  expect(await refused({ accountId: randomUUID() })).toEqual(doubtful)
  expect(await refused({ status: 'delivered', smtp: undefined })).toEqual(doubtful)
})

test.each([
  [10, 2, true, 'the address took mail before: seven days'],
  [10, 8, false, 'they are over'],
  [1, 8, true, 'a delivery after the refusal does not count'],
  [99, 8, true, 'nor one of more than 90 days before it'],
])('after a delivery %i days ago a refusal %i days ago holds: %s (%s)', async (delivered, refused, holds) => {
  await sent({ days: delivered, status: 'delivered' })
  await entry({ days: refused, smtp: UNKNOWN })
  expect((await recheck()).doubtful).toHaveLength(holds ? 0 : 1)
})

test('an entry whose reply is no longer stored stays, and every page of entries is judged', async () => {
  const rows = Array.from({ length: 201 }, (_, i) => ({
    ...{ id: newId(Date.now()), accountId: ACCOUNT, tenantId: '', messageId: randomUUID() },
    ...{ email: `user${i}@example.net`, reason: 'bounce' as const },
  }))
  await database.db.insert(suppressions).values(rows)
  expect(await recheck()).toEqual({ judged: 201, unknown: 201, doubtful: [] })
})

test('only the entries of an account, or since a moment, are judged on demand', async () => {
  const other = randomUUID()
  await entry({ days: 3, smtp: UNKNOWN })
  await entry({ days: 1, smtp: UNKNOWN, email: 'bob@example.net' })
  await entry({ days: 1, smtp: UNKNOWN, accountId: other })
  const judged = async (scope: object) => (await recheck(scope)).judged
  expect(await judged({})).toBe(3)
  expect(await judged({ accountId: other })).toBe(1)
  expect(await judged({ since: new Date(ago(2)) })).toBe(2)
  expect(await judged({ accountId: ACCOUNT, since: new Date(ago(2)) })).toBe(1)
})

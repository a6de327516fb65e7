import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { DeliveryStatus, Reason, SuppressionReason, SuppressionScope } from '../../gen/verdict/v1/outcomes_pb.ts'
import { asc, sql } from '../../server/db/drizzle.ts'
import { LATENCY_BOUNDS_MS, LATENCY_COLUMNS } from '../../server/db/latency-buckets.ts'
import { hourlyStats, refusals, suppressions } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { reasonOf } from '../../server/errors.ts'
import { createClaim } from '../../server/ledger/claim.ts'
import { LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { simulatedId } from '../../server/reputation/simulated.ts'
import { removeSuppression } from '../../server/reputation/suppression-list.ts'
import { undoStep } from '../../server/reputation/undo-import.ts'
import { bounced, delivered, endingRow } from '../../server/sending/outcome.ts'
import { createRecordUntilStored } from '../../server/sending/until-stored.ts'
import { newClaim } from '../harness/claim.ts'
import { waitForHourOf } from '../harness/periods.ts'
import { recipient } from '../harness/recipient.ts'
import { countsIn } from '../sending/statistics.ts'
import { message, script, startSendingWorld } from '../sending/world.ts'

// What a commit stores besides the outcome: statistics, and the refusals that count against addresses.

const world = await startSendingWorld({ 'MX gone.org': 'nxdomain' })
beforeEach(async () => {
  // `counts` expects one hour.
  await waitForHourOf(10_000)
  await run(world.db, 'truncate hourly_stats, suppressions, refusals')
})

const { send } = world

const counts = (ofTenant?: string) => countsIn(world, ofTenant)

test("statistics count every email by status or reason in its domain's hour, and rejected ones without a latency", async () => {
  await send()
  await send({ to: ['a@example.net', 'b@example.net', 'c@gone.org', 'd@nowhere.example'] })
  expect(await counts()).toEqual({
    domain: 'example.test',
    delivered: 3,
    no_mx_record: 1,
    invalid_address: 1,
    latencies: 4,
  })
  const moved = sql<boolean>`${hourlyStats.hour} + interval '2 hours'
    in (date_trunc('hour', now(), 'UTC'), date_trunc('hour', now() - interval '1 minute', 'UTC'))`
  const [row] = await world.db.select({ moved }).from(hourlyStats)
  expect(row!.moved).toBe(true)
})

test('statistics count a send under the latency that it took', async () => {
  const claim = createClaim(world.db)
  const record = createRecordUntilStored(world, LEFT_TO_TEMPORAL)
  const content = { sizeBytes: 0, digest: 'ab'.repeat(32) }
  // In the middle of a bucket, so that the test's duration does not matter: each is half as long again as the last.
  for (const tookMs of [1.2 * LATENCY_BOUNDS_MS[20]!, 1.2 * LATENCY_BOUNDS_MS[21]!, 2 * LATENCY_BOUNDS_MS.at(-1)!]) {
    const c = newClaim({ createdAtMs: Date.now() - tookMs })
    await claim(c)
    await record({ claim: c, content, outcomes: [delivered(recipient('ann@example.net'))] }, performance.now() + 5_000)
  }
  const rows = await world.db.select().from(hourlyStats)
  const filled = rows.flatMap((row) => LATENCY_COLUMNS.filter((column) => Object(row)[column] > 0))
  expect(filled).toEqual(['latency_21', 'latency_22', 'latency_24'])
})

test('statistics count a send with a tenant for all and for the tenant', async () => {
  await send({ tenantId: 'shop' })
  await send()
  expect(await counts()).toMatchObject({ delivered: 2 })
  expect(await counts('shop')).toMatchObject({ delivered: 1 })
})

test('an email in doubt counts as bounced with connection_timeout, and as in doubt', async () => {
  script(world, { dot: 'close' })
  await send({ tenantId: 'shop' })
  const inDoubt = { connection_timeout: 1, in_doubt: 1, latencies: 1 }
  expect(await counts()).toEqual({ domain: 'example.test', ...inDoubt })
  expect(await counts('shop')).toEqual({ domain: 'example.test', ...inDoubt })
})

test('dry runs count in no statistic', async () => {
  await send({}, { sandbox: true })
  expect(await world.db.$count(hourlyStats)).toBe(0)
})

test('a message counts its emails to the simulator apart from the others', async () => {
  await send({ to: ['a@example.net', 'delivered@simulator.test', 'mailbox_full@simulator.test'], tenantId: 'shop' })
  const rows = await run(
    world.db,
    'select account_id as "accountId", tenant_id as "tenantId", delivered, mailbox_full from hourly_stats',
  )
  const live = { accountId: world.account.id, delivered: 1, mailbox_full: 0 }
  const simulated = { accountId: simulatedId(world.account.id), delivered: 1, mailbox_full: 1 }
  const expected = ['', 'shop'].flatMap((tenant) => [live, simulated].map((row) => ({ ...row, tenantId: tenant })))
  expect(rows).toHaveLength(4)
  expect(rows).toEqual(expect.arrayContaining(expected))
})

async function entries() {
  const { email, tenantId, reason, expiresAt } = suppressions
  const days = sql<number | null>`round(extract(epoch from ${expiresAt} - now()) / 86400)::int`
  return world.db.select({ email, tenantId, reason, days }).from(suppressions).orderBy(asc(email))
}

test.each([
  '550 5.1.1 no such user',
  '550 5.1.10 user unknown',
  '550 5.1.3',
  '550 5.1.6',
  '550 no such user here',
  '550 5.0.0 user unknown',
])('a hard mailbox bounce (%s) suppresses at once, in the commit of the record', async (rcpt) => {
  script(world, { rcpt })
  const first = await send({ to: ['Gone@Example.net'] })
  expect(first.reason).toBe(Reason.MAILBOX_DOES_NOT_EXIST)
  expect(await entries()).toMatchObject([{ email: 'gone@example.net', tenantId: '', reason: 'bounce', days: null }])
  world.exchanger.sessions.length = 0
  const second = await send({ to: ['gone@example.NET'] })
  expect(second).toMatchObject({
    status: DeliveryStatus.REJECTED,
    reason: Reason.SUPPRESSION_LIST,
    suppression: { scope: SuppressionScope.ACCOUNT, cause: SuppressionReason.BOUNCE },
  })
  expect(world.exchanger.sessions).toHaveLength(0)
})

test('a bounce of a send with a tenant suppresses for that tenant alone', async () => {
  script(world, { rcpt: '550 5.1.1 no such user' })
  await send({ tenantId: 'shop' })
  expect(await entries()).toMatchObject([{ tenantId: 'shop' }])
  script(world, {})
  expect((await send({ tenantId: 'shop' })).suppression?.scope).toBe(SuppressionScope.TENANT)
  expect((await send({ tenantId: 'other' })).status).toBe(DeliveryStatus.DELIVERED)
  expect((await send()).status).toBe(DeliveryStatus.DELIVERED)
})

/** Days pass for the refusals that are stored, and not for what was delivered. */
const daysPass = (days: number) =>
  world.db.update(refusals).set({ createdAt: sql`created_at - ${days} * interval '1 day'` })

/** An address that took no mail before. */
const stranger = () => `${randomUUID()}@example.net`

test.each(['550 5.2.1 disabled', '550 5.2.1 user unknown', '550', '550 mailbox unavailable', '550 5.1.1 Geoblocked'])(
  '%s suppresses for 30 days at the second incident within 30 days',
  async (rcpt) => {
    const to = [stranger()]
    script(world, { rcpt })
    await send({ to })
    // All within 24 hours of the first one are one incident.
    await send({ to })
    expect(await entries()).toHaveLength(0)
    await daysPass(30)
    await send({ to })
    expect(await entries()).toHaveLength(0)
    await daysPass(2)
    await send({ to })
    expect(await entries()).toMatchObject([{ email: to[0], days: 30 }])
  },
)

test('an address that took mail for any tenant is suppressed for 7 days at its first incident', async () => {
  const to = [stranger()]
  expect((await send({ to, tenantId: 'shop' })).status).toBe(DeliveryStatus.DELIVERED)
  script(world, { rcpt: '550 5.1.1 no such user' })
  await send({ to })
  expect(await entries()).toMatchObject([{ email: to[0], tenantId: '', days: 7 }])
})

test('incidents are counted from the last delivery on', async () => {
  const to = [stranger()]
  script(world, { rcpt: '550 mailbox unavailable' })
  await send({ to })
  await daysPass(2)
  script(world, {})
  await send({ to })
  script(world, { rcpt: '550 mailbox unavailable' })
  await send({ to })
  expect(await entries()).toHaveLength(0)
})

test('mailbox_full at three incidents within 30 days suppresses for 7 days', async () => {
  const to = [stranger()]
  script(world, { rcpt: '552 5.2.2 full' })
  for (const _ of [1, 2]) {
    await send({ to })
    await daysPass(2)
  }
  expect(await entries()).toHaveLength(0)
  await send({ to })
  expect(await entries()).toMatchObject([{ email: to[0], reason: 'bounce', days: 7 }])
  await world.db.update(suppressions).set({ expiresAt: sql`now() - interval '1 second'` })
  script(world, {})
  expect((await send({ to })).status).toBe(DeliveryStatus.DELIVERED)
})

test.each([
  { rcpt: '550 5.7.1 blocked' },
  { rcpt: '451 4.3.0 later' },
  { rcpt: '550 no' },
  { rcpt: '550 5.1.1 <ann@example.net> - 203.0.113.222 has sent to too many recipients this hour' },
  { rcpt: '550 Rejected for too many bad recipients' },
  { dot: '550 5.1.1 spam' },
  { dot: 'close' as const },
])('a reply about anything but the mailbox, and an outcome in doubt, never suppress: %o', async (replies) => {
  for (const _ of [1, 2, 3]) {
    script(world, replies)
    await send()
  }
  expect(await entries()).toHaveLength(0)
  expect(await world.db.$count(refusals)).toBe(0)
})

test('refusals of one commit are one incident', async () => {
  const claims = [1, 2, 3].map(() => newClaim({ accountId: world.account.id }))
  const claimSend = createClaim(world.db)
  for (const claim of claims) await claimSend(claim)
  const record = createRecordUntilStored(world, LEFT_TO_TEMPORAL)
  const outcomes = [
    bounced(recipient('ann@example.net'), Reason.MAILBOX_DOES_NOT_EXIST, {
      code: 550,
      reply: 'no user',
      readAs: 'mailbox (refused)',
    }),
  ]
  // The first is recorded alone, and those that wait for it are recorded together.
  await Promise.all(
    claims.map((claim) =>
      record({ claim, content: { sizeBytes: 7, digest: 'ab'.repeat(32) }, outcomes }, performance.now() + 10_000),
    ),
  )
  expect(await world.db.$count(refusals)).toBe(3)
  expect(await entries()).toEqual([])
})

test('a message refuses an address once, however many spellings of its local part it was sent to', async () => {
  script(world, { rcpt: '550 mailbox unavailable' })
  const spellings = { to: ['one@example.net', 'One@example.net', 'ONE@example.net'] }
  expect((await send(spellings)).recipients).toHaveLength(3)
  expect(await world.db.select({ email: refusals.email }).from(refusals)).toEqual([{ email: 'one@example.net' }])
  await daysPass(2)
  await send(spellings)
  expect(await entries()).toMatchObject([{ email: 'one@example.net', days: 30 }])
})

test('5.7.x never suppresses, even when its text says that the user is unknown', () => {
  const unknown = { code: 550, enhanced: '5.7.1', reply: 'No such user!' }
  const { outcomes } = endingRow([bounced(recipient('ann@ya.ru'), Reason.MAILBOX_DOES_NOT_EXIST, unknown)])
  expect(outcomes[0]!.refusal).toBeUndefined()
})

test('the simulator suppresses nothing', async () => {
  for (const _ of [1, 2, 3])
    await send({ to: ['mailbox_full@simulator.test', 'mailbox_does_not_exist@simulator.test'] })
  expect(await entries()).toHaveLength(0)
})

test('a permanent entry is not replaced by one that expires', async () => {
  const permanent = { id: randomUUID(), accountId: world.account.id, tenantId: 'other', email: 'ann@example.net' }
  await world.db.insert(suppressions).values({ ...permanent, reason: 'manual' })
  script(world, { rcpt: '552 5.2.2 full' })
  const to = ['zed@example.net']
  for (const _ of [1, 2, 3]) {
    await send({ to, tenantId: 'other-tenant' })
    await daysPass(2)
  }
  expect((await entries()).map(({ tenantId, reason, days }) => [tenantId, reason, days])).toEqual([
    ['other', 'manual', null],
    ['other-tenant', 'bounce', 7],
  ])
})

test('a bounce of a send in flight takes the entry that an import made, and leaves those of people', async () => {
  const claim = newClaim({ accountId: world.account.id })
  await createClaim(world.db)(claim)
  const entry = { accountId: world.account.id, tenantId: '', email: 'import@example.net', reason: 'import' as const }
  await world.db.insert(suppressions).values({ ...entry, id: randomUUID(), importId: randomUUID() })
  const unknown = { code: 550, enhanced: '5.1.1', reply: '5.1.1 User unknown', readAs: 'mailbox (unknown)' }
  const outcomes = [bounced(recipient('import@example.net'), Reason.MAILBOX_DOES_NOT_EXIST, unknown)]
  const record = createRecordUntilStored(world, LEFT_TO_TEMPORAL)
  await record({ claim, content: { sizeBytes: 7, digest: 'ab'.repeat(32) }, outcomes }, performance.now() + 10_000)
  const [kept] = await world.db.select().from(suppressions)
  expect(kept).toMatchObject({ reason: 'bounce', messageId: claim.messageId, importId: null, replaced: null })
})

test('removing an entry, or undoing its import, takes back what counted against the address', async () => {
  const accountId = world.account.id
  const importId = randomUUID()
  script(world, { rcpt: '550 mailbox unavailable' })
  const remove = [
    (email: string) => removeSuppression(world.db, { accountId }, [email]),
    () => world.db.transaction((tx) => undoStep(tx, accountId, importId)),
  ]
  for (const takeBack of remove) {
    const email = stranger()
    await send({ to: [email] })
    await daysPass(2)
    await world.db
      .insert(suppressions)
      .values({ id: randomUUID(), accountId, tenantId: '', email, reason: 'import', importId })
    await takeBack(email)
    await send({ to: [email] })
    expect(await entries()).toEqual([])
  }
})

test('when the suppression look-up fails, nothing is sent: 500', async () => {
  const failing = world.sendAlone({
    suppressed: async () => {
      throw new Error('the database is gone')
    },
  })
  world.exchanger.sessions.length = 0
  const options = { accountId: world.account.id, sandbox: false, signal: new AbortController().signal }
  const error = await failing(message(), options).catch((error) => error)
  expect(reasonOf(error)).toBeUndefined()
  expect(error.message).toContain('gone')
  expect(world.exchanger.sessions).toHaveLength(0)
})

test('200 concurrent sends are counted 200 times', async () => {
  await Promise.all(Array.from({ length: 200 }, (_, i) => send({ to: [`a${i}@example.net`] })))
  expect(await counts()).toMatchObject({ delivered: 200, latencies: 200 })
})

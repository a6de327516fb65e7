import { beforeEach, expect, test } from 'vitest'
import { and, eq } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { members, notices, notificationChoices, notificationUrls } from '../../server/db/people-schema.ts'
import {
  breakers,
  domains,
  openDispatches,
  providerMinutes,
  refusingProviders,
  webhookEndpoints,
  webhookHours,
} from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { findNotices } from '../../server/notices/find-notices.ts'
import { testAccount } from '../harness/account.ts'
import { addPerson } from '../harness/person.ts'

let ann: string
let endpointId: string
let domainId: string

const world = await testAccount()

beforeEach(async () => {
  const { db, accountId } = world
  await run(
    db,
    'truncate refusing_providers, provider_minutes, notices, notification_choices, notification_urls, members, breakers, webhook_hours, open_dispatches, webhook_endpoints, domains cascade',
  )
  ann = await person('owner')
  endpointId = newId(Date.now())
  await db
    .insert(webhookEndpoints)
    .values({ id: endpointId, accountId, url: 'https://hooks.example.com/secret', secret: Buffer.from('x') })
  domainId = newId(Date.now())
  await db.insert(domains).values({ id: domainId, accountId, name: 'example.com', status: 'verified' })
})

async function person(role: 'owner' | 'member'): Promise<string> {
  const { db, accountId } = world
  return (await addPerson(db, { accountId, role })).personId
}

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000)

/** An event that the endpoint has not acknowledged for these minutes. */
async function failFor(minutes: number): Promise<void> {
  const { db, accountId } = world
  const at = ago(minutes)
  const row = {
    id: newId(at.getTime()),
    eventId: newId(at.getTime()),
    messageId: newId(at.getTime()),
    accountId,
    endpointId,
  }
  await db.insert(openDispatches).values({
    ...row,
    kind: 'original',
    createdAt: at,
    attempt: 2,
    dueAt: at,
    deadlineAt: new Date(Date.now() + 3_600_000),
  })
  await attempt({ failed: 1, lastFailedAt: at, failedSince: 1 })
}

async function attempt(row: Partial<typeof webhookHours.$inferInsert>): Promise<void> {
  const { db, accountId } = world
  const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000)
  await db
    .insert(webhookHours)
    .values({ accountId, endpointId, hour, ...row })
    .onConflictDoUpdate({ target: [webhookHours.accountId, webhookHours.endpointId, webhookHours.hour], set: row })
}

async function acknowledge(): Promise<void> {
  await world.db.delete(openDispatches)
  await attempt({ acknowledged: 1, lastAcknowledgedAt: new Date(), failedSince: 0 })
}

async function lapse(status: 'lapsed' | 'verified' = 'lapsed'): Promise<void> {
  await world.db.update(domains).set({ status, failingSince: status === 'lapsed' ? ago(3) : null })
}

async function open(state: 'open' | 'half_open' | 'closed' = 'open'): Promise<void> {
  const row = { accountId: world.accountId, domain: 'example.com', state, cause: 'bounces', changedAt: ago(1) } as const
  const values = { ...row, baseEmails: 0, baseBounces: 0, baseComplaints: 0 }
  await world.db
    .insert(breakers)
    .values(values)
    .onConflictDoUpdate({ target: [breakers.accountId, breakers.domain], set: { state } })
}

/** Looks, and returns what is new; as if everything that was found is sent at once. */
async function found(hasMail = true) {
  const { db } = world
  const before = new Set((await db.select().from(notices)).map(({ id }) => id))
  await findNotices(db, { hasMail })
  const after = await db.select().from(notices).orderBy(notices.id)
  await db.update(notices).set({ state: 'sent' }).where(eq(notices.state, 'waiting'))
  return after
    .filter(({ id }) => !before.has(id))
    .map(({ kind, isOver, subject, channel, personId }) => {
      return [kind, isOver ? 'over' : 'begins', subject, channel, personId]
    })
}

/** Makes every notice older. */
const age = (minutes: number) =>
  run(world.db, `update notices set created_at = created_at - interval '${minutes} minutes'`)

test('an owner is notified of an endpoint that has failed for five minutes, and once only', async () => {
  await failFor(4)
  expect(await found()).toEqual([])
  await failFor(5.1)
  expect(await found()).toEqual([['endpoint_failing', 'begins', 'hooks.example.com', 'mail', ann]])
  expect(await found()).toEqual([])
  await age(120)
  expect(await found()).toEqual([])
})

test('a notice names the host of an endpoint in any spelling of its URL, and never the path', async () => {
  await world.db.update(webhookEndpoints).set({ url: 'HTTPS://Hooks.example.com:8443?token=secret' })
  await failFor(6)
  expect((await found()).map(([, , subject]) => subject)).toEqual(['Hooks.example.com:8443'])
})

test('an endpoint that acknowledged an event after the oldest waiting one does not fail', async () => {
  await failFor(10)
  await attempt({ acknowledged: 1, lastAcknowledgedAt: ago(2), lastFailedAt: ago(1) })
  expect(await found()).toEqual([])
})

test('who was told of a failing endpoint is notified of its next acknowledgement', async () => {
  await failFor(6)
  await found()
  await acknowledge()
  expect(await found()).toEqual([['endpoint_failing', 'over', 'hooks.example.com', 'mail', ann]])
  expect(await found()).toEqual([])
})

test('an endpoint whose events have all expired works again only when it acknowledges one', async () => {
  await failFor(6)
  await found()
  await world.db.delete(openDispatches)
  expect(await found()).toEqual([])
  await acknowledge()
  expect(await found()).toHaveLength(1)
})

test('a state that flaps causes one notice an hour', async () => {
  await lapse()
  expect(await found()).toHaveLength(1)
  for (let i = 0; i < 5; i++) {
    await lapse('verified')
    expect(await found()).toHaveLength(i === 0 ? 1 : 0)
    await lapse()
    expect(await found()).toEqual([])
  }
  await age(61)
  expect(await found()).toEqual([['domain_lapsed', 'begins', 'example.com', 'mail', ann]])
})

test('people are notified of a breaker when it opens and when it is closed, and not between', async () => {
  await open()
  expect(await found()).toEqual([['breaker_open', 'begins', 'example.com', 'mail', ann]])
  await open('half_open')
  await age(120)
  expect(await found()).toEqual([])
  await open('closed')
  expect(await found()).toEqual([['breaker_open', 'over', 'example.com', 'mail', ann]])
})

test('people are notified of a provider that refuses the account, with the number of emails, and of its end', async () => {
  const { db, accountId } = world
  const refusing = { id: newId(Date.now()), accountId, provider: 'microsoft', beganAt: ago(1) }
  await db.insert(refusingProviders).values(refusing)
  await db.insert(providerMinutes).values({
    ...{ accountId, provider: 'microsoft', minute: new Date(), outcomes: 30, policyBlocks: 20 },
  })
  expect(await found()).toEqual([['provider_refuses', 'begins', 'microsoft', 'mail', ann]])
  expect(await db.select({ waiting: notices.waiting }).from(notices)).toEqual([{ waiting: 20 }])
  await db.update(refusingProviders).set({ endedAt: new Date() })
  expect(await found()).toEqual([['provider_refuses', 'over', 'microsoft', 'mail', ann]])
})

test('each person chooses; without a choice only owners are notified', async () => {
  const { db, accountId } = world
  const bob = await person('member')
  await lapse()
  await open()
  expect((await found()).map(([, , , , id]) => id)).toEqual([ann, ann])
  await db.insert(notificationChoices).values({ accountId, personId: bob, kinds: ['domain_lapsed'] })
  await db.insert(notificationChoices).values({ accountId, personId: ann, kinds: [] })
  expect(await found()).toEqual([['domain_lapsed', 'begins', 'example.com', 'mail', bob]])
  await lapse('verified')
  expect(await found()).toEqual([['domain_lapsed', 'over', 'example.com', 'mail', bob]])
})

test('a person who leaves an account gets nothing more', async () => {
  await lapse()
  await found()
  await world.db.delete(members).where(and(eq(members.personId, ann)))
  await lapse('verified')
  expect(await found()).toEqual([])
})

test('the URL of an account gets everything, also without mail', async () => {
  const { db, accountId } = world
  await db.insert(notificationUrls).values({ accountId, url: Buffer.from('x'), origin: 'https://chat.example.com' })
  await lapse()
  expect(await found(false)).toEqual([['domain_lapsed', 'begins', 'example.com', 'url', null]])
})

test('a trouble that ends before its notice was sent is not told', async () => {
  const { db } = world
  await lapse()
  await findNotices(db, { hasMail: true })
  await lapse('verified')
  await findNotices(db, { hasMail: true })
  expect((await db.select().from(notices)).map(({ state, isOver }) => [state, isOver])).toEqual([['cancelled', false]])
})

test('a trouble that ends between two tries of its notice is not told, and one that ends during a try is', async () => {
  const { db } = world
  await lapse()
  await findNotices(db, { hasMail: true })
  await lapse('verified')
  const inAMinute = new Date(Date.now() + 60_000)
  for (const [dueAt, state] of [
    [ago(1), 'waiting'],
    [inAMinute, 'cancelled'],
  ] as const) {
    await db.update(notices).set({ dueAt, leaseUntil: inAMinute })
    await findNotices(db, { hasMail: true })
    expect(await db.select().from(notices)).toMatchObject([{ state }])
  }
})

test('a subject that is deleted causes no more notices', async () => {
  await failFor(6)
  await lapse()
  expect(await found()).toHaveLength(2)
  await world.db.delete(webhookEndpoints)
  await world.db.delete(domains)
  expect(await found()).toEqual([])
  expect((await world.db.select().from(notices)).map(({ isOpen }) => isOpen)).toEqual([false, false])
})

test('processes that look at the same moment tell once', async () => {
  await lapse()
  await Promise.all(Array.from({ length: 8 }, () => findNotices(world.db, { hasMail: true })))
  expect(await world.db.select().from(notices)).toHaveLength(1)
})

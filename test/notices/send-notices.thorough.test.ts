import { beforeEach, expect, test } from 'vitest'
import { createResolver } from '../../mail/dns/resolver.ts'
import { createLookup } from '../../net/lookup.ts'
import { eq } from '../../server/db/drizzle.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { members, notices, notificationChoices, notificationUrls, people } from '../../server/db/people-schema.ts'
import { domains, events, hourlyStats, messages } from '../../server/db/schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { leaseDue } from '../../server/notices/due-notices.ts'
import { HOUSE } from '../../server/notices/house.ts'
import { createNotificationUrls } from '../../server/notices/notification-urls.ts'
import { createPost } from '../../server/webhooks/post/post.ts'
import { addPerson } from '../harness/person.ts'
import { startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'
import { script, startSendingWorld } from '../sending/world.ts'
import { mailText } from './mail-text.ts'
import { createTestSender } from './notice-sender.ts'

let ann: string
const errors: unknown[] = []

const world = await startSendingWorld()
const receiver = untilEnd(await startReceiver())
const post = untilEnd(
  createPost({
    allowSubnets: ['127.0.0.0/8'],
    lookup: createLookup(createResolver({ servers: [world.dns.address] })),
  }),
)

beforeEach(async () => {
  const { db, account, exchanger } = world
  await db.delete(notices)
  await db.delete(notificationUrls)
  await db.delete(notificationChoices)
  await db.delete(members)
  await db.delete(people)
  await db.update(domains).set({ status: 'verified' }).where(eq(domains.name, 'example.test'))
  ann = (await addPerson(db, { accountId: account.id, email: 'ann@example.net' })).personId
  exchanger.messages.length = 0
  receiver.requests.length = 0
  receiver.script = {}
  errors.length = 0
})

const createSender = () =>
  createTestSender(world, { post: post.post, report: (end) => 'error' in end && errors.push(end.error) })

type NewNotice = Partial<typeof notices.$inferInsert>

/** The number of notices. Each trouble began later than the one before: ids of one millisecond have no order. */
let count = 0

async function notice(change: NewNotice = {}): Promise<string> {
  const id = newId(Date.now())
  const row = { id, accountId: world.account.id, kind: 'domain_lapsed', channel: 'mail', personId: ann } as const
  const since = new Date(Date.parse('2026-01-31T12:00:00Z') + count++)
  const about = { subjectId: newId(Date.now()), subject: 'shop.example', since }
  await world.db.insert(notices).values({ ...row, ...about, isOpen: true, dueAt: new Date(0), ...change })
  return id
}

const rowOf = async (id: string) => (await world.db.select().from(notices).where(eq(notices.id, id)))[0]!

const urls = () => createNotificationUrls(world)
const operator = () => ({ accountId: world.account.id, actor: { kind: 'operator', name: 'op' } }) as const

test('a notice is mailed through the product itself, signed, and names a domain and a link only', async () => {
  const id = await notice()
  await createSender().sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'sent', outcome: 'delivered', tries: 0 })
  const [mail] = world.exchanger.messages
  const text = mail!.content.toString()
  expect(text).toContain('To: ann@example.net')
  expect(text).toContain('From: Verdict <verdict@example.test>')
  expect(text).toContain('Auto-Submitted: auto-generated')
  expect(text).toMatch(/^DKIM-Signature: /m)
  expect(text).toContain('shop.example is no longer verified')
  expect(mailText(mail!.content)).toContain(
    `https://mail.example.com/dashboard/${publicId('acc', world.account.id)}/domains/dom_`,
  )
})

test('the mail belongs to no account: nothing of an account sees it, and its text is not stored', async () => {
  const { db, account } = world
  await notice()
  await createSender().sendDue()
  const rows = await db.select().from(messages)
  expect(rows.map(({ accountId }) => accountId)).toEqual(rows.map(() => HOUSE))
  expect(await db.select().from(events).where(eq(events.accountId, account.id))).toEqual([])
  expect(await db.select().from(hourlyStats).where(eq(hourlyStats.accountId, account.id))).toEqual([])
  expect(JSON.stringify(rows)).not.toContain('Choose your notifications')
})

test('a reply that is retryable is tried again later, and a final one is not', async () => {
  script(world, { rcpt: '451 4.7.1 try later' })
  const id = await notice()
  const sender = createSender()
  await sender.sendDue()
  const row = await rowOf(id)
  expect(row).toMatchObject({ state: 'waiting', tries: 1, outcome: 'bounced: temporary_failure' })
  expect(row.dueAt.getTime()).toBeGreaterThan(Date.now() + 50_000)
  world.exchanger.script = { rcpt: '550 5.1.1 no such user' }
  await world.db.update(notices).set({ dueAt: new Date(0) })
  await sender.sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'failed', outcome: 'bounced: mailbox_does_not_exist' })
})

test('a process that is killed after the send leaves it to another, which does not send again', async () => {
  const id = await notice()
  await createSender().sendDue()
  await world.db.update(notices).set({ state: 'waiting', leaseUntil: new Date(0) })
  await createSender().sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'sent', outcome: 'delivered' })
  expect(world.exchanger.messages).toHaveLength(1)
})

test('processes that send at the same moment send once', async () => {
  await notice()
  await Promise.all([createSender(), createSender(), createSender()].map((sender) => sender.sendDue()))
  expect(world.exchanger.messages).toHaveLength(1)
})

const subjectsOf = () =>
  world.exchanger.messages.map(({ content }) => /^Subject: (.*)\r$/m.exec(content.toString())![1])

test('troubles that are due together are one mail to each person: what began first, and how many more', async () => {
  const { db, account } = world
  const bob = (await addPerson(db, { accountId: account.id, email: 'bob@example.net' })).personId
  await notice({ subject: 'over.example', isOver: true, since: new Date('2026-01-30T12:00:00Z') })
  await notice({ subject: 'late.example', kind: 'breaker_open', since: new Date('2026-01-31T13:00:00Z') })
  await notice()
  await notice({ personId: bob })
  await createSender().sendDue()
  expect(subjectsOf().toSorted()).toEqual([
    'shop.example is no longer verified',
    'shop.example is no longer verified (and 2 more)',
  ])
  const mail = world.exchanger.messages.find(({ content }) => content.includes('To: ann@'))
  const text = mailText(mail!.content)
  const found = ['shop.example have failed', 'late.example bounced', 'over.example are found again', 'Choose your']
  const places = found.map((words) => text.indexOf(words))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
  expect(text.match(/\/domains\/dom_/g)).toHaveLength(3)
  const rows = await db.select().from(notices)
  expect(rows.map(({ state, outcome }) => [state, outcome])).toEqual(rows.map(() => ['sent', 'delivered']))
})

test('a mail lists 20 troubles, and says how many more there are and where', async () => {
  for (let i = 0; i < 23; i++) await notice({ subject: `shop-${i}.example` })
  await createSender().sendDue()
  expect(subjectsOf()).toEqual(['shop-0.example is no longer verified (and 22 more)'])
  const text = mailText(world.exchanger.messages[0]!.content)
  expect(text.match(/have failed their checks/g)).toHaveLength(20)
  expect(text).toMatch(/And 3 more:\s+https:\/\/mail\.example\.com\/dashboard\/acc_\w+\/settings\/notifications/)
})

test('a mail leaves out the kinds that its person no longer chooses', async () => {
  const { db, account } = world
  const [kept, left] = [await notice(), await notice({ kind: 'breaker_open', subject: 'left.example' })]
  const kinds: ('domain_lapsed' | 'breaker_open')[] = ['domain_lapsed']
  await db.insert(notificationChoices).values({ accountId: account.id, personId: ann, kinds })
  await createSender().sendDue()
  expect([(await rowOf(kept)).state, (await rowOf(left)).state]).toEqual(['sent', 'cancelled'])
  expect(subjectsOf()).toEqual(['shop.example is no longer verified'])
})

test('what another process finds of a mail after a kill is that mail, and what is new is another one', async () => {
  const earlier = [await notice(), await notice({ subject: 'two.example' })]
  await createSender().sendDue()
  await world.db.update(notices).set({ state: 'waiting', leaseUntil: new Date(0) })
  const later = await notice({ subject: 'later.example' })
  await Promise.all([createSender(), createSender()].map((sender) => sender.sendDue()))
  // Two processes send side by side, so either mail may arrive first.
  expect(subjectsOf().sort()).toEqual([
    'later.example is no longer verified',
    'shop.example is no longer verified (and 1 more)',
  ])
  for (const id of [...earlier, later]) expect(await rowOf(id)).toMatchObject({ state: 'sent', outcome: 'delivered' })
})

test('troubles of a mail that was refused are mailed again together with newer ones', async () => {
  script(world, { rcpt: '451 4.7.1 try later' })
  const ids = [await notice(), await notice({ subject: 'two.example' })]
  await createSender().sendDue()
  for (const id of ids) expect(await rowOf(id)).toMatchObject({ state: 'waiting', tries: 1 })
  world.exchanger.script = {}
  await notice({ subject: 'three.example' })
  await world.db.update(notices).set({ dueAt: new Date(0) })
  await createSender().sendDue()
  expect(subjectsOf()).toEqual(['shop.example is no longer verified (and 2 more)'])
})

test('troubles that are due together are one post to the URL of the account', async () => {
  await urls().set(world.account.id, receiver.url, operator())
  const ids = []
  for (const subject of ['one.example', 'two.example'])
    ids.push(await notice({ channel: 'url', personId: null, subject }))
  await createSender().sendDue()
  for (const id of ids) expect(await rowOf(id)).toMatchObject({ state: 'sent', outcome: 'HTTP 200' })
  expect(receiver.requests).toHaveLength(1)
  const { text } = JSON.parse(receiver.requests[0]!.body.toString())
  expect(text).toMatch(/^The DNS records of one\.example .*\/dom_\w+\nThe DNS records of two\.example .*\/dom_\w+$/)
})

test('nothing is sent to a person who has left the account meanwhile', async () => {
  const id = await notice()
  await world.db.delete(members)
  await createSender().sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'cancelled' })
  expect(world.exchanger.messages).toEqual([])
})

test('while no account has the domain of NOTIFY_FROM verified, the mail waits', async () => {
  const id = await notice()
  await world.db.update(domains).set({ status: 'lapsed' }).where(eq(domains.name, 'example.test'))
  await createSender().sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'waiting', tries: 0 })
  expect(String(errors)).toContain('example.test')
  await world.db
    .update(notices)
    .set({ createdAt: new Date(Date.now() - 86_400_000), dueAt: new Date(0), leaseUntil: null })
  await createSender().sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'failed' })
})

test('a URL gets the text that Slack reads, and is stored sealed', async () => {
  const { db, account } = world
  await urls().set(account.id, `http://127.0.0.1:${receiver.port}/services/T0/secret`, operator())
  const id = await notice({ channel: 'url', personId: null, subject: 'a<b>.example' })
  await createSender().sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'sent', outcome: 'HTTP 200' })
  const [request] = receiver.requests
  expect(request).toMatchObject({ method: 'POST', path: '/services/T0/secret' })
  const { text } = JSON.parse(request!.body.toString())
  expect(text).toMatch(
    /^The DNS records of a&lt;b&gt;\.example have failed .* https:\/\/mail\.example\.com\/dashboard\/acc_/,
  )
  const [stored] = await db.select().from(notificationUrls)
  expect(stored!.url.includes('secret')).toBe(false)
  expect(await urls().find(account.id)).toMatchObject({ origin: new URL(receiver.url).origin })
})

test('a URL that fails is tried again, and one that is removed gets nothing', async () => {
  const { account } = world
  await urls().set(account.id, receiver.url, operator())
  receiver.script = { status: 503 }
  const id = await notice({ channel: 'url', personId: null })
  await createSender().sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'waiting', tries: 1, outcome: 'HTTP 503' })
  await urls().set(account.id, undefined, operator())
  await world.db.update(notices).set({ dueAt: new Date(0) })
  await createSender().sendDue()
  expect(await rowOf(id)).toMatchObject({ state: 'cancelled' })
})

test('however many letters one account, or strangers, have caused, the next letter of another one is sent at once', async () => {
  const { db, clock } = world
  const owner = await createAccount(db, clock, 'Crowd')
  const letter = { channel: 'mail', personId: null, isOpen: false } as const
  const reset = { ...letter, kind: 'password_reset', accountId: null, subjectId: null, subject: '' } as const
  for (let i = 0; i < 60; i++) {
    await notice({ ...letter, kind: 'invitation', accountId: owner.id, dueAt: new Date(i) })
    await notice({ ...reset, email: `stranger-${i}@example.org`, dueAt: new Date(i) })
    await notice({ ...reset, email: 'ann@example.net', dueAt: new Date(i) })
  }
  await addPerson(db, { accountId: world.account.id, email: 'ben@example.net' })
  const late = new Date(Date.now() - 1_000)
  const ids = [
    await notice({ ...letter, kind: 'invitation', dueAt: late }),
    await notice({ ...reset, email: 'ben@example.net', dueAt: late }),
  ]
  const leased = (await leaseDue(db, 60_000)).flatMap((together) => together.map(({ id }) => id))
  expect(leased).toHaveLength(10)
  expect(leased).toEqual(expect.arrayContaining(ids))
})

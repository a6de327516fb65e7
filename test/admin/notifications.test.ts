import { createServiceImplSpec } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import {
  NotificationChannel,
  NotificationService,
  NotificationState,
  TroubleKind,
} from '../../gen/verdict/admin/v1/notifications_pb.ts'
import { createResolver } from '../../mail/dns/resolver.ts'
import { createLookup } from '../../net/lookup.ts'
import { createNotificationService } from '../../server/admin/notifications.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId } from '../../server/db/ids.ts'
import { auditEntries, notices, notificationUrls, TROUBLE_KINDS } from '../../server/db/people-schema.ts'
import { domains } from '../../server/db/schema.ts'
import { createPost } from '../../server/webhooks/post/post.ts'
import { testAccount } from '../harness/account.ts'
import { startDashboard } from '../harness/person.ts'
import { startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'

const world = await testAccount()
const receiver = untilEnd(await startReceiver())
const sealer = createSealer([{ id: 'k', key: Buffer.alloc(32, 1) }])
const post = untilEnd(
  createPost({
    allowSubnets: ['127.0.0.0/8'],
    lookup: createLookup(createResolver({ servers: ['127.0.0.1:1'] })),
  }),
)
const parts = {
  ...world,
  sealer,
  notifyFrom: 'verdict@example.test',
  webhooks: post,
  publicUrl: () => 'https://v.test',
}
const service = createNotificationService(parts)
const services = [createServiceImplSpec<typeof NotificationService>(NotificationService, service)]
const dashboard = await startDashboard({ ...world, services, sealer })

const SECRET = '/services/T000/B000/secret'
const urlOf = () => `http://127.0.0.1:${receiver.port}${SECRET}`

async function client(role: 'owner' | 'member' | 'reader' = 'owner', confirmed = true) {
  const person = await dashboard.person({ accountId: world.accountId, role, confirmed })
  return person.client(NotificationService)
}

const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: Error) => error.message,
  )

test('an owner is mailed about everything and others about nothing, until they choose', async () => {
  const owner = await client()
  expect((await owner.getNotificationSettings({})).mails).toHaveLength(TROUBLE_KINDS.length)
  const reader = await client('reader')
  expect((await reader.getNotificationSettings({})).mails).toEqual([])
  const mails = [TroubleKind.DOMAIN_LAPSED, TroubleKind.DOMAIN_LAPSED]
  await reader.setNotificationMails({ mails })
  expect((await reader.getNotificationSettings({})).mails).toEqual([TroubleKind.DOMAIN_LAPSED])
  await owner.setNotificationMails({ mails: [] })
  expect(await owner.getNotificationSettings({})).toMatchObject({ mails: [], mailFrom: 'verdict@example.test' })
  expect(await reasonOf(owner.setNotificationMails({ mails: [9 as TroubleKind] }))).toContain('mails')
})

test('a URL is sealed, shown without its path, and audited without it', async () => {
  const member = await client('member')
  expect(await member.setNotificationUrl({ url: urlOf() })).toMatchObject({
    urlOrigin: `http://127.0.0.1:${receiver.port}`,
  })
  const settings = await member.getNotificationSettings({})
  expect(settings.urlOrigin).toBe(`http://127.0.0.1:${receiver.port}`)
  const { db } = world
  const everything = JSON.stringify([
    (await db.select().from(notificationUrls)).map((row) => ({ ...row, url: row.url.toString('latin1') })),
    await db.select().from(auditEntries),
  ])
  expect(everything).toContain('notification_url.set')
  expect(everything).not.toContain('B000')
})

test('setting a URL needs the password and the role of a member', async () => {
  expect(await reasonOf((await client('owner', false)).setNotificationUrl({ url: urlOf() }))).toMatch(/password/i)
  expect(await reasonOf((await client('reader')).setNotificationUrl({ url: urlOf() }))).toMatch(/member/i)
})

test.each([
  ['', 'is required'],
  ['https://10.0.0.1/x', 'must lead to a public address'],
])('the URL %s is refused: it passes the guard of webhooks', async (url, fault) => {
  expect(await reasonOf((await client()).setNotificationUrl({ url }))).toContain(fault)
})

test('a test shows what the URL responds', async () => {
  const owner = await client()
  await owner.setNotificationUrl({ url: urlOf() })
  receiver.script = { body: 'ok' }
  expect(await owner.testNotificationUrl({})).toMatchObject({ taken: true, statusCode: 200, responseExcerpt: 'ok' })
  const { path, headers, body } = receiver.requests.at(-1)!
  expect([path, headers['content-type']]).toEqual([SECRET, 'application/json'])
  expect(JSON.parse(body.toString())).toEqual({ text: expect.stringContaining('This is a test of Verdict') })
  receiver.script = { status: 404, body: 'no_service' }
  expect(await owner.testNotificationUrl({})).toMatchObject({
    taken: false,
    statusCode: 404,
    detail: 'The URL responded with 404.',
    responseExcerpt: 'no_service',
  })
  receiver.script = { fault: 'close' }
  const broken = await owner.testNotificationUrl({})
  expect([broken.taken, broken.statusCode]).toEqual([false, undefined])
  expect(broken.detail).toMatch(/connection/i)
  receiver.script = {}
})

test('a URL that is removed is gone', async () => {
  const owner = await client()
  await owner.setNotificationUrl({ url: urlOf() })
  await owner.removeNotificationUrl({})
  expect((await owner.getNotificationSettings({})).urlOrigin).toBeUndefined()
  expect(await reasonOf(owner.testNotificationUrl({}))).toContain('no notification URL')
})

test('the list shows what was sent to whom, page by page, and nothing of other accounts', async () => {
  const { db, accountId } = world
  const person = await dashboard.person({ accountId })
  const row = { kind: 'domain_lapsed', subjectId: newId(0), subject: 'shop.example', dueAt: new Date() } as const
  const told = {
    ...row,
    accountId,
    channel: 'mail',
    personId: person.personId,
    state: 'sent',
    outcome: 'delivered',
  } as const
  await db.insert(notices).values([
    { ...told, id: newId(1_000) },
    { ...row, accountId, id: newId(2_000), channel: 'url', isOver: true, outcome: 'HTTP 503', tries: 1 },
    { ...row, accountId: null, id: newId(3_000), kind: 'password_reset', channel: 'mail' },
  ])
  const owner = await client()
  const first = await owner.listNotifications({ limit: 1 })
  expect(first.notifications).toMatchObject([
    { channel: NotificationChannel.URL, over: true, state: NotificationState.WAITING, outcome: 'HTTP 503' },
  ])
  const second = await owner.listNotifications({ limit: 1, cursor: first.nextCursor })
  expect(second.notifications).toMatchObject([
    { channel: NotificationChannel.MAIL, personName: 'The owner', subject: 'shop.example', outcome: 'delivered' },
  ])
  expect(second.nextCursor).toBeUndefined()
})

test('what is wrong now is listed', async () => {
  const { db, accountId } = world
  const owner = await client()
  expect((await owner.listTroubles({})).troubles).toEqual([])
  const failingSince = new Date('2026-01-31T12:00:00Z')
  await db.insert(domains).values({ id: newId(0), accountId, name: 'shop.example', status: 'lapsed', failingSince })
  expect((await owner.listTroubles({})).troubles).toMatchObject([
    {
      kind: TroubleKind.DOMAIN_LAPSED,
      subject: 'shop.example',
      since: { seconds: BigInt(failingSince.getTime() / 1_000) },
    },
  ])
})

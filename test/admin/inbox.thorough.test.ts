import { createContextValues, createServiceImplSpec, type HandlerContext } from '@connectrpc/connect'
import { afterEach, expect, test } from 'vitest'
import { InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { createFrames, framePaths } from '../../server/admin/frames.ts'
import { createInboxService } from '../../server/admin/inbox.ts'
import { createInboxMessages } from '../../server/admin/inbox-messages.ts'
import { callerKey } from '../../server/caller.ts'
import { publicId } from '../../server/db/ids.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { reasonOf } from '../../server/errors.ts'
import { startDashboard } from '../harness/person.ts'
import { message, startSendingWorld } from '../sending/world.ts'

const world = await startSendingWorld()
const { db, sealer, clock } = world
const other = (await createAccount(db, clock, 'Other')).id
await createDomain({ db, sealer, clock }, { accountId: other, name: 'other.test', status: 'verified' })
afterEach(() => world.inbox.delete(world.inbox.messages().map(({ id }) => id)))

async function send(accountId: string, change: Parameters<typeof message>[0] = {}, storeContent = false) {
  const email = message({ to: ['delivered@simulator.test'], ...change })
  return world.sendAlone({ storeContent })(email, world.options({ accountId }))
}

const messages = () => createInboxMessages({ db: world.db, inbox: world.inbox })

/** The calls of a person in an account. */
function as(accountId: string) {
  const service = createInboxService(messages())
  const values = createContextValues().set(callerKey, { accountId, keyId: '', test: false })
  const context = { values } as HandlerContext
  return {
    list: async (search?: string) =>
      service.listInbox({ $typeName: 'verdict.admin.v1.ListInboxRequest', search }, context),
    get: async (inboxId: string) =>
      service.getInboxMessage({ $typeName: 'verdict.admin.v1.GetInboxMessageRequest', inboxId }, context),
    clear: async () => service.clearInbox({ $typeName: 'verdict.admin.v1.ClearInboxRequest' }, context),
  }
}

const own = () => world.account.id
const subjects = async (accountId: string, search?: string) =>
  (await as(accountId).list(search)).messages!.map(({ subject }) => subject)

test('the inbox lists what an account sent to the simulator, the newest first, and leads to the verdict', async () => {
  const first = await send(own(), {
    subject: 'Größe',
    to: ['Ann <delivered+1@simulator.test>'],
    bcc: ['delivered+2@simulator.test'],
  })
  await send(own(), { subject: 'Second', attachments: [{ filename: 'a.txt', content: Buffer.from('a') }] })
  const { messages: listed, total } = await as(own()).list()
  expect(total).toBe(2)
  expect(listed).toMatchObject([
    { subject: 'Second', attachments: 1, from: 'Verdict <hello@example.test>' },
    {
      subject: 'Größe',
      messageId: first.messageId,
      recipients: ['delivered+1@simulator.test', 'delivered+2@simulator.test'],
      attachments: 0,
    },
  ])
  const { inboxId, sizeBytes, receivedAt } = listed![1]!
  expect(inboxId).toMatch(/^ibx_[0-9a-z]{26}$/)
  expect(sizeBytes).toBeGreaterThan(300)
  // Two clocks on a busy machine, not another day or a unit mistaken.
  expect(Math.abs(Number(receivedAt!.seconds) * 1_000 - world.clock.now())).toBeLessThan(60_000)
})

test('messages that were refused are not there', async () => {
  await send(own(), { to: ['spam_blocked@simulator.test', 'mailbox_full@simulator.test'] })
  expect((await as(own()).list()).total).toBe(0)
})

test('the search looks at subject, sender and recipients, whatever their case, and the total stays', async () => {
  await send(own(), { subject: 'Your Invoice' })
  await send(own(), { subject: 'Hello', to: ['delivered+bob@simulator.test'] })
  expect(await subjects(own(), 'INVOICE')).toEqual(['Your Invoice'])
  expect(await subjects(own(), '+Bob@')).toEqual(['Hello'])
  expect(await subjects(own(), 'hello@example')).toEqual(['Hello', 'Your Invoice'])
  expect(await subjects(own(), 'nothing')).toEqual([])
  expect((await as(own()).list('nothing')).total).toBe(2)
})

test('one message has its text, headers, attachments and source', async () => {
  await send(own(), {
    subject: 'Both',
    text: 'Grüße',
    html: '<p>Grüße',
    headers: { 'X-Mine': 'yes' },
    attachments: [{ filename: 'a\u202egnp.exe', content: Buffer.from('a') }],
  })
  const [entry] = (await as(own()).list()).messages!
  const shown = await as(own()).get(entry!.inboxId!)
  expect(shown).toMatchObject({ text: 'Grüße', hasHtml: true, entry })
  expect(shown.headers).toContainEqual({ name: 'X-Mine', value: 'yes' })
  expect(shown.headers![0]!.name).toBe('DKIM-Signature')
  expect(shown.attachments).toMatchObject([{ contentType: 'application/x-msdos-program', sizeBytes: 1, inline: false }])
  expect(shown.source).toMatch(/^DKIM-Signature: [\s\S]*\r\nX-Mine: yes\r\n/)
})

test('a source of 10 MB is cut to 1 MiB, and its file is whole', async () => {
  const content = Buffer.alloc(7_000_000, 'a')
  await send(own(), { attachments: [{ filename: 'a.bin', content }] })
  const [entry] = (await as(own()).list()).messages!
  const { source, attachments } = await as(own()).get(entry!.inboxId!)
  expect(source).toHaveLength(2 ** 20)
  expect(attachments).toMatchObject([{ sizeBytes: 7_000_000 }])
})

test('an account sees, opens, downloads and clears nothing of another account', async () => {
  await send(own(), {
    subject: 'Mine',
    html: '<p>Mine',
    attachments: [{ filename: 'a.txt', content: Buffer.from('a') }],
  })
  await send(other, { subject: 'Theirs', from: 'a@other.test' })
  expect(await subjects(own())).toEqual(['Mine'])
  expect(await subjects(other)).toEqual(['Theirs'])

  const [mine] = (await as(own()).list()).messages!
  const id = mine!.inboxId!
  const refusal = await as(other)
    .get(id)
    .catch((error) => error)
  expect(reasonOf(refusal)).toBe('not_found')
  const unknown = await as(other)
    .get(id.replace(/.$/, '0'))
    .catch((error) => error)
  expect(unknown.message.replace(/"ibx_.*"/, '')).toBe(refusal.message.replace(/"ibx_.*"/, ''))

  const frames = createFrames({ db: world.db, inbox: messages() })
  expect(await frames.inboxHtml(own(), id)).toContain('<p>Mine')
  expect(await frames.inboxFile(own(), id, 0)).toMatchObject({ filename: 'a.txt' })
  expect((await frames.inboxSource(own(), id))!.filename).toBe(`${id}.eml`)
  for (const read of [frames.inboxHtml, frames.inboxSource]) expect(await read(other, id)).toBeUndefined()
  expect(await frames.inboxFile(other, id, 0)).toBeUndefined()
  expect(await frames.inboxFile(own(), id, 1)).toBeUndefined()

  await as(other).clear()
  expect(await subjects(other)).toEqual([])
  expect(await subjects(own())).toEqual(['Mine'])
})

test('stored html is shown to its account, and only when content was stored', async () => {
  const { messageId: stored } = await send(own(), { html: '<meta http-equiv=refresh><p>Hi' }, true)
  const { messageId: bare } = await send(own(), { html: '<p>Hi' })
  const { messageId: text } = await send(own(), { text: 'Hi' }, true)
  const { storedHtml } = createFrames({ db: world.db, inbox: undefined })
  expect(await storedHtml(own(), stored)).toBe('<base target="_blank"><bgsound http-equiv=refresh><p>Hi')
  expect(await storedHtml(own(), bare)).toBeUndefined()
  expect(await storedHtml(own(), text)).toBeUndefined()
  expect(await storedHtml(other, stored)).toBeUndefined()
  expect(await storedHtml(own(), 'msg_x')).toBeUndefined()
})

test('without an inbox its frames do not exist', async () => {
  const { inboxHtml, inboxSource, inboxFile } = createFrames({ db: world.db, inbox: undefined })
  const id = 'ibx_01jx3c7w5fe9c8m0t1q2r3s4v5'
  expect(await Promise.all([inboxHtml(own(), id), inboxSource(own(), id), inboxFile(own(), id, 0)])).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('people read the inbox of their accounts; readers clear nothing, and frames of others do not exist', async () => {
  await send(own(), { subject: 'Mine', html: '<script>alert(1)</script>' })
  const { db, clock } = world
  const spec = createServiceImplSpec<typeof InboxService>(InboxService, createInboxService(messages()))
  const frames = framePaths(createFrames({ db, inbox: messages() }))
  const dashboard = await startDashboard({ db, clock, services: [spec], frames })

  const reader = await dashboard.person({ accountId: own(), role: 'reader' })
  const stranger = await dashboard.person({ accountId: other, role: 'owner' })
  const { messages: listed } = await reader.client(InboxService).listInbox({})
  expect(listed.map(({ subject }) => subject)).toEqual(['Mine'])
  expect(await reader.client(InboxService).clearInbox({}).catch(reasonOf)).toBe('insufficient_role')
  expect((await stranger.client(InboxService).listInbox({})).messages).toEqual([])

  const frame = (cookie: string | undefined, account = own()) => {
    const path = `/dashboard/frame/inbox/${publicId('acc', account)}/${listed[0]!.inboxId}`
    return fetch(dashboard.url + path, { headers: cookie ? { cookie } : {} })
  }
  const shown = await frame(reader.cookie)
  expect(shown.status).toBe(200)
  expect(shown.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none';/)
  const refusals = [
    frame(undefined),
    frame(stranger.cookie),
    frame(stranger.cookie, other),
    frame('verdict.session_token=x'),
  ]
  for (const { status } of await Promise.all(refusals)) expect(status).toBe(404)
  const post = await fetch(shown.url, { method: 'POST', headers: { cookie: reader.cookie } })
  expect(post.status).toBe(405)

  const member = await dashboard.person({ accountId: own(), role: 'member' })
  await member.client(InboxService).clearInbox({})
  expect((await reader.client(InboxService).listInbox({})).total).toBe(0)
})

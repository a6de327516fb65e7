import { createServiceImplSpec } from '@connectrpc/connect'
import { beforeEach, expect, test } from 'vitest'
import { NotificationState } from '../../../gen/verdict/admin/v1/notifications_pb.ts'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { InvitationService, PeopleService } from '../../../gen/verdict/admin/v1/people_pb.ts'
import { createInvitationService } from '../../../server/admin/invitations.ts'
import { createPeopleService } from '../../../server/admin/people.ts'
import { and, eq } from '../../../server/db/drizzle.ts'
import { auditEntries, members, notices, people, sessions, verifications } from '../../../server/db/people-schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { reasonOf } from '../../../server/errors.ts'
import { callsWith, startDashboard } from '../../harness/person.ts'
import { callSignIn } from '../../harness/sign-in.ts'
import { createTestSender, mailedToken } from '../../notices/notice-sender.ts'
import { script, startSendingWorld } from '../../sending/world.ts'

const [MINE, THEIRS] = ['the password of ann', 'a password of someone']
const EMAIL = 'ann@example.net'

const world = await startSendingWorld()
const parts = { ...world, publicUrl: () => 'https://mail.example.com', notifyFrom: 'verdict@example.test' }
const dashboard = await startDashboard({
  ...world,
  services: [createServiceImplSpec<typeof PeopleService>(PeopleService, createPeopleService(parts))],
  openServices: (own) => [
    createServiceImplSpec<typeof InvitationService>(InvitationService, createInvitationService({ ...parts, ...own })),
  ],
})
beforeEach(async () => {
  await world.db.delete(people)
  await world.db.delete(notices)
  world.exchanger.messages.length = 0
})

/** Invites Ann into a new account, and sends the mail. */
async function invite() {
  const { db, clock } = world
  const { id: accountId } = await createAccount(db, clock, 'Web shop')
  const owner = (await dashboard.person({ accountId })).client(PeopleService)
  const invited = await owner.invitePerson({ email: EMAIL, role: Role.MEMBER })
  await createTestSender(world).sendDue()
  const list = () => owner.listPeople({}).then(({ invitations }) => invitations)
  return {
    accountId,
    owner,
    invited,
    list,
    shown: invited.url.split('/').at(-1)!,
    mailed: mailedToken(world, 'invitation'),
  }
}

const holder = () => callsWith('').client(InvitationService, dashboard.url)
const failure = (call: Promise<unknown>) => call.then(() => 'none', reasonOf)
const annIs = async () => (await world.db.select().from(people).where(eq(people.email, EMAIL)))[0]!
const signIn = (password: string) => callSignIn('/sign-in/email', { email: EMAIL, password }, { url: dashboard.url })

test('an invitation is mailed with a link of its own, and the shown link works, too', async () => {
  const { invited, shown, mailed, list } = await invite()
  expect(invited.mailed).toBe(true)
  expect(mailed).not.toBe(shown)
  expect(await list()).toMatchObject([{ email: EMAIL, mail: NotificationState.SENT, mailOutcome: 'delivered' }])
  for (const token of [shown, mailed]) expect(await holder().getInvitation({ token })).toMatchObject({ email: EMAIL })
  const text = world.exchanger.messages[0]!.content.toString()
  expect(text).not.toContain('Web shop')
})

test('the mailed link proves the address, and the shown one does not', async () => {
  const first = await invite()
  await holder().acceptInvitation({ token: first.shown, name: 'Ann', password: MINE })
  expect((await annIs()).emailVerified).toBe(false)
  await world.db.delete(people)
  const second = await invite()
  await holder().acceptInvitation({ token: second.mailed, name: 'Ann', password: MINE })
  expect((await annIs()).emailVerified).toBe(true)
  expect(await failure(holder().getInvitation({ token: second.shown }))).toBe('not_found')
})

test('a person who knows the password joins by the mailed link, and has proven the address', async () => {
  const first = await invite()
  await holder().acceptInvitation({ token: first.shown, name: 'Ann', password: MINE })
  const second = await invite()
  expect(await holder().getInvitation({ token: second.mailed })).toMatchObject({ hasSignIn: true })
  expect(await holder().getInvitation({ token: second.shown })).toMatchObject({ hasSignIn: false })
  await holder().acceptInvitation({ token: second.mailed, password: MINE })
  const { id, emailVerified } = await annIs()
  expect(emailVerified).toBe(true)
  expect(await world.db.$count(members, eq(members.personId, id))).toBe(2)
})

test('the holder of the mailbox takes the address from someone who never proved it', async () => {
  const { db, clock } = world
  const theirs = await invite()
  await holder().acceptInvitation({ token: theirs.shown, name: 'Eve', password: THEIRS })
  const eve = await annIs()
  await db.insert(sessions).values({ id: eve.id, token: 't', userId: eve.id, expiresAt: new Date(clock.now() + 1e6) })
  const halfway = { id: eve.id, identifier: '2fa-x', value: eve.id, expiresAt: new Date(clock.now() + 1e6) }
  await db.insert(verifications).values(halfway)
  const mine = await invite()
  const accept = { token: mine.mailed, name: 'Ann', password: MINE }
  expect(await failure(holder().acceptInvitation(accept))).toBe('wrong_password')
  expect(await failure(holder().acceptInvitation({ ...accept, token: mine.shown, replace: true }))).toBe(
    'wrong_password',
  )
  await holder().acceptInvitation({ ...accept, replace: true })
  const ann = await annIs()
  expect(ann).toMatchObject({ name: 'Ann', emailVerified: true })
  expect(
    (await db.select().from(members).where(eq(members.personId, ann.id))).map(({ accountId }) => accountId),
  ).toEqual([mine.accountId])
  expect(await db.$count(sessions, eq(sessions.userId, eve.id))).toBe(0)
  expect(await db.$count(verifications)).toBe(0)
  expect([(await signIn(THEIRS)).status, (await signIn(MINE)).status]).toEqual([401, 200])
  const lost = and(eq(auditEntries.accountId, theirs.accountId), eq(auditEntries.action, 'person.lose_address'))
  expect(await db.select().from(auditEntries).where(lost)).toMatchObject([{ target: EMAIL, actorKind: 'stranger' }])
})

test('a proven address is taken from no person', async () => {
  const first = await invite()
  await holder().acceptInvitation({ token: first.mailed, name: 'Ann', password: MINE })
  const second = await invite()
  const taking = holder().acceptInvitation({ token: second.mailed, name: 'Eve', password: THEIRS, replace: true })
  expect(await failure(taking)).toBe('wrong_state')
  expect((await signIn(MINE)).status).toBe(200)
})

test('an invitation that was withdrawn before its mail is not mailed', async () => {
  const { db, clock } = world
  const { id: accountId } = await createAccount(db, clock, 'Web shop')
  const owner = (await dashboard.person({ accountId })).client(PeopleService)
  const { invitation } = await owner.invitePerson({ email: EMAIL, role: Role.MEMBER })
  await owner.withdrawInvitation({ invitationId: invitation!.invitationId })
  await createTestSender(world).sendDue()
  expect(world.exchanger.messages).toEqual([])
})

test('the list says that a mail was not taken', async () => {
  script(world, { rcpt: '550 5.1.1 no such user' })
  const { list } = await invite()
  expect(await list()).toMatchObject([
    { mail: NotificationState.FAILED, mailOutcome: 'bounced: mailbox_does_not_exist' },
  ])
})

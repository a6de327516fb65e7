import { createClient, createServiceImplSpec } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { AccountService } from '../../gen/verdict/admin/v1/account_pb.ts'
import { KeyService } from '../../gen/verdict/admin/v1/keys_pb.ts'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { InvitationService, PeopleService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { inviteFirstPerson } from '../../server/access/people/invitations.ts'
import { createAccountService } from '../../server/admin/account.ts'
import { createInvitationService } from '../../server/admin/invitations.ts'
import { createKeyService } from '../../server/admin/keys.ts'
import { createPeopleService } from '../../server/admin/people.ts'
import { createPersonService } from '../../server/admin/person.ts'
import { and, asc, desc, eq, inArray } from '../../server/db/drizzle.ts'
import { publicId } from '../../server/db/ids.ts'
import { auditEntries, invitations, members, people } from '../../server/db/people-schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { contentsOfError, reasonOf } from '../../server/errors.ts'
import { testAccount } from '../harness/account.ts'
import { callsWith, startDashboard } from '../harness/person.ts'

const PASSWORD = 'correct horse battery'

const account = await testAccount()
const { db, clock } = account
const about = { version: 'test', region: 'eu' }
const publicUrl = () => 'https://verdict.test'
const parts = { db, clock, about, publicUrl }
const dashboard = await startDashboard({
  db,
  clock,
  services: [
    createServiceImplSpec<typeof PersonService>(PersonService, createPersonService(parts)),
    createServiceImplSpec<typeof PeopleService>(PeopleService, createPeopleService(parts)),
    createServiceImplSpec<typeof KeyService>(KeyService, createKeyService(parts)),
    createServiceImplSpec<typeof AccountService>(AccountService, createAccountService(parts)),
  ],
  openServices: (people) => [
    createServiceImplSpec<typeof InvitationService>(
      InvitationService,
      createInvitationService({ ...parts, ...people }),
    ),
  ],
})

/** An owner of their own account. */
async function newOwner() {
  const { id: accountId } = await createAccount(account.db, account.clock, 'Web shop')
  const owner = await dashboard.person({ accountId })
  return { ...owner, accountId, people: owner.client(PeopleService) }
}

/** The holder of a link, who is not signed in. */
const holder = () =>
  createClient(InvitationService, createConnectTransport({ baseUrl: dashboard.url, httpVersion: '1.1' }))

const tokenOf = (url: string) => url.split('/').at(-1)!

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (error) => error,
  )
  return reasonOf(error) ?? `no refusal: ${error}`
}

let count = 0
const newEmail = () => `ann.${++count}@people.test`

test('an invited person joins the account with the role of the invitation', async () => {
  const owner = await newOwner()
  const email = newEmail()
  const { invitation, url } = await owner.people.invitePerson({ email: email.toUpperCase(), role: Role.MEMBER })
  expect(url).toMatch(/^https:\/\/verdict\.test\/dashboard\/invitation\/[\w-]{43}$/)
  expect(invitation).toMatchObject({ email, role: Role.MEMBER })
  const days = Number(invitation!.expiresAt!.seconds - invitation!.createdAt!.seconds) / 86_400
  expect(days).toBe(7)
  expect((await owner.people.listPeople({})).invitations).toEqual([invitation])

  const token = tokenOf(url)
  const found = await holder().getInvitation({ token })
  expect(found).toMatchObject({ accountNames: ['Web shop'], email, role: Role.MEMBER })
  expect(await holder().acceptInvitation({ token, name: ' Ann ', password: PASSWORD })).toMatchObject({ email })
  const { people: all, invitations } = await owner.people.listPeople({})
  expect(invitations).toEqual([])
  expect(all.map(({ name, email, role }) => [name, email, role])).toEqual([
    ['Ann', email, Role.MEMBER],
    ['The owner', owner.email, Role.OWNER],
  ])
})

test('a link works once, even when two accept it at the same moment', async () => {
  const owner = await newOwner()
  const email = newEmail()
  const { url } = await owner.people.invitePerson({ email, role: Role.READER })
  const accept = () => holder().acceptInvitation({ token: tokenOf(url), name: 'Ann', password: PASSWORD })
  const results = await Promise.allSettled([accept(), accept()])
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(await refusal(accept())).toBe('not_found')
  expect(await refusal(holder().getInvitation({ token: tokenOf(url) }))).toBe('not_found')
  expect((await owner.people.listPeople({})).people).toHaveLength(2)
})

test('one new person can accept the invitations of two accounts at the same moment', async () => {
  const [one, two] = [await newOwner(), await newOwner()]
  const email = newEmail()
  const urls = await Promise.all(
    [one, two].map(async (owner) => (await owner.people.invitePerson({ email, role: Role.MEMBER })).url),
  )
  await Promise.all(
    urls.map((url) => holder().acceptInvitation({ token: tokenOf(url), name: 'Ann', password: PASSWORD })),
  )
  const [person] = await account.db.select().from(people).where(eq(people.email, email))
  const joined = await account.db.select().from(members).where(eq(members.personId, person!.id))
  expect(joined.map(({ accountId }) => accountId).sort()).toEqual([one.accountId, two.accountId].sort())
})

test('a person who exists accepts with their own password, and keeps it', async () => {
  const owner = await newOwner()
  const ann = await dashboard.person({ password: PASSWORD })
  const { url } = await owner.people.invitePerson({ email: ann.email, role: Role.READER })
  const token = tokenOf(url)
  const wrong = holder().acceptInvitation({ token, name: 'Eve', password: 'another password' })
  expect(await refusal(wrong)).toBe('wrong_password')
  await holder().acceptInvitation({ token, password: PASSWORD })
  expect((await ann.client(PersonService).getPerson({})).accounts).toMatchObject([
    { accountId: publicId('acc', owner.accountId), role: Role.READER },
  ])
})

test('links that have expired, were withdrawn, replaced or invented do not work', async () => {
  const owner = await newOwner()
  const email = newEmail()
  const first = await owner.people.invitePerson({ email, role: Role.READER })
  const second = await owner.people.invitePerson({ email, role: Role.MEMBER })
  expect((await owner.people.listPeople({})).invitations).toHaveLength(1)
  const { invitationId } = second.invitation!
  await owner.people.withdrawInvitation({ invitationId })
  expect(await refusal(owner.people.withdrawInvitation({ invitationId }))).toBe('not_found')
  const third = await owner.people.invitePerson({ email, role: Role.MEMBER })
  await account.db
    .update(invitations)
    .set({ expiresAt: new Date(0) })
    .where(eq(invitations.accountId, owner.accountId))
  expect((await owner.people.listPeople({})).invitations).toEqual([])
  for (const token of [...[first, second, third].map(({ url }) => tokenOf(url)), '', 'x'.repeat(43)]) {
    expect(await refusal(holder().getInvitation({ token }))).toBe('not_found')
    const accept = holder().acceptInvitation({ token, name: 'Ann', password: PASSWORD })
    expect(await refusal(accept)).toBe('not_found')
  }
})

test('names, passwords and addresses that do not fit are refused, and the link still works', async () => {
  const owner = await newOwner()
  const { url } = await owner.people.invitePerson({ email: newEmail(), role: Role.READER })
  const token = tokenOf(url)
  const accept = (change: object) =>
    refusal(holder().acceptInvitation({ token, name: 'Ann', password: PASSWORD, ...change }))
  for (const change of [
    { name: '' },
    { name: 'x'.repeat(101) },
    { name: 'A\nnn' },
    { password: 'eleven char' },
    { password: 'x'.repeat(129) },
    { email: 'other@people.test' },
  ]) {
    expect([change, await accept(change)]).toEqual([change, 'invalid_payload'])
  }
  await holder().acceptInvitation({ token, name: 'Ann', password: PASSWORD })
  for (const email of ['', 'ann', 'ann@example', '"a b"@example.com', 'ann@example.com\u0000']) {
    expect(await refusal(owner.people.invitePerson({ email, role: Role.READER }))).toMatch(/^invalid_/)
  }
  expect(await refusal(owner.people.invitePerson({ email: newEmail() }))).toBe('invalid_payload')
  expect(await refusal(owner.people.invitePerson({ email: newEmail(), role: 9 as Role }))).toBe('invalid_payload')
  expect(await refusal(owner.people.invitePerson({ email: owner.email, role: Role.READER }))).toBe('invalid_payload')
})

test('the last owner stays, also when two owners leave at the same moment', async () => {
  const owner = await newOwner()
  const personId = publicId('per', owner.personId)
  expect(await refusal(owner.people.removePerson({ personId }))).toBe('last_owner')
  expect(await refusal(owner.people.changeRole({ personId, role: Role.MEMBER }))).toBe('last_owner')
  const other = await dashboard.person({ accountId: owner.accountId })
  const leaves = [owner, other].map((person) =>
    person.client(PeopleService).changeRole({ personId: publicId('per', person.personId), role: Role.READER }),
  )
  const results = await Promise.allSettled(leaves)
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const left = await account.db.select().from(members).where(eq(members.accountId, owner.accountId))
  expect(left.map(({ role }) => role).sort()).toEqual(['owner', 'reader'])
})

test('a person of another account cannot be changed or removed', async () => {
  const [owner, other] = [await newOwner(), await newOwner()]
  for (const personId of [publicId('per', other.personId), publicId('per', crypto.randomUUID()), 'per_1']) {
    expect(await refusal(owner.people.removePerson({ personId }))).toBe('not_found')
    expect(await refusal(owner.people.changeRole({ personId, role: Role.READER }))).toBe('not_found')
  }
  const { invitation } = await other.people.invitePerson({ email: newEmail(), role: Role.READER })
  const { invitationId } = invitation!
  expect(await refusal(owner.people.withdrawInvitation({ invitationId }))).toBe('not_found')
})

test('the audit log has who invited, joined, changed and removed whom', async () => {
  const owner = await newOwner()
  const email = newEmail()
  const { url } = await owner.people.invitePerson({ email, role: Role.READER })
  await holder().acceptInvitation({ token: tokenOf(url), name: 'Ann', password: PASSWORD })
  const { personId } = (await owner.people.listPeople({})).people.find((person) => person.email === email)!
  await owner.people.changeRole({ personId, role: Role.MEMBER })
  await owner.people.removePerson({ personId })
  const entries = await account.db
    .select()
    .from(auditEntries)
    .where(inArray(auditEntries.accountId, [owner.accountId]))
    .orderBy(asc(auditEntries.id))
  expect(
    entries.map(({ action, actorName, target, before, after }) => [action, actorName, target, before, after]),
  ).toEqual([
    ['person.invite', owner.email, email, null, { role: 'reader' }],
    ['person.join', email, email, null, { role: 'reader' }],
    ['person.role', owner.email, email, { role: 'reader' }, { role: 'member' }],
    ['person.remove', owner.email, email, { role: 'member' }, null],
  ])
  expect(JSON.stringify(entries)).not.toContain(tokenOf(url))
})

test('the set-up link makes its holder, who chooses the address, an owner of every account', async () => {
  const { db, clock } = account
  const owner = await newOwner()
  const create = () => db.transaction((tx) => inviteFirstPerson(tx, clock))
  const [replaced, { token, invitation }] = [await create(), await create()]
  expect(invitation.expiresAt.getTime() - invitation.createdAt.getTime()).toBe(86_400_000)
  expect(await refusal(holder().getInvitation({ token: replaced.token }))).toBe('not_found')
  const found = await holder().getInvitation({ token })
  expect(found.email).toBeUndefined()
  expect(found.role).toBe(Role.OWNER)
  expect(found.accountNames).toContain('Web shop')
  expect(await refusal(holder().acceptInvitation({ token, name: 'Ann', password: PASSWORD }))).toBe('invalid_address')
  const email = newEmail()
  await holder().acceptInvitation({ token, email, name: 'Ann', password: PASSWORD })
  const { people: all } = await owner.people.listPeople({})
  expect(all.find((person) => person.email === email)).toMatchObject({ role: Role.OWNER })
})

/** The invitation of an address, as its holder sees it, and what becomes of attempts to accept it. */
async function seenByHolder(owner: Awaited<ReturnType<typeof newOwner>>, email: string) {
  const { url } = await owner.people.invitePerson({ email, role: Role.READER })
  const token = tokenOf(url)
  const { expiresAt: _, email: __, ...found } = await holder().getInvitation({ token })
  const attempts = [
    { password: 'not the password' },
    { password: '' },
    { name: '', password: 'not the password' },
    { name: 'A\nnn', password: 'not the password' },
    { name: 'Ann', password: 'too short' },
    { name: 'Ann', password: 'x'.repeat(129) },
  ]
  const responses: unknown[] = []
  for (const attempt of attempts) {
    const error = await holder()
      .acceptInvitation({ token, ...attempt })
      .catch((error) => error)
    responses.push(contentsOfError(error))
  }
  return { found, responses }
}

test('the holder of a link does not learn whether its address has a person, until one is created or signs in', async () => {
  const owner = await newOwner()
  const ann = await dashboard.person({ password: PASSWORD })
  const [known, unknown] = [await seenByHolder(owner, ann.email), await seenByHolder(owner, newEmail())]
  expect(known).toEqual(unknown)
  expect(known.responses.map((response) => (response as { reason: string }).reason)).toEqual([
    'wrong_password',
    ...Array(5).fill('invalid_payload'),
  ])
})

test('wrong passwords for an address without a person use up the same attempts', async () => {
  const owner = await newOwner()
  const ann = await dashboard.person({ password: PASSWORD })
  const refusals = async (email: string) => {
    const token = tokenOf((await owner.people.invitePerson({ email, role: Role.READER })).url)
    const attempts = Array.from({ length: 11 }, () => ({ token, password: 'not the password' }))
    const found: string[] = []
    for (const attempt of attempts) found.push(await refusal(holder().acceptInvitation(attempt)))
    return found
  }
  const expected = [...Array(10).fill('wrong_password'), 'rate_limit_exceeded']
  expect(await refusals(newEmail())).toEqual(expected)
  expect(await refusals(ann.email)).toEqual(expected)
})

test('the person who made an invitation cannot accept it, for a new address or with its own password', async () => {
  const owner = await newOwner()
  const ann = await dashboard.person({ password: PASSWORD })
  for (const email of [newEmail(), ann.email]) {
    const { url } = await owner.people.invitePerson({ email, role: Role.OWNER })
    const accept = (client = owner.client(InvitationService)) =>
      client.acceptInvitation({ token: tokenOf(url), name: 'Ann', password: PASSWORD })
    expect(await refusal(accept())).toBe('own_invitation')
    // The link still works for the person whom it invites.
    expect(await accept(holder())).toMatchObject({ email })
  }
})

test('another person who is signed in can accept an invitation', async () => {
  const [owner, other] = [await newOwner(), await newOwner()]
  const email = newEmail()
  const { url } = await owner.people.invitePerson({ email, role: Role.READER })
  const token = tokenOf(url)
  expect(
    await other.client(InvitationService).acceptInvitation({ token, name: 'Ann', password: PASSWORD }),
  ).toMatchObject({ email })
})

test('nothing proves an address: no new person counts as verified', async () => {
  const owner = await newOwner()
  const email = newEmail()
  const { url } = await owner.people.invitePerson({ email, role: Role.READER })
  await holder().acceptInvitation({ token: tokenOf(url), name: 'Ann', password: PASSWORD })
  expect(await account.db.select().from(people).where(eq(people.email, email))).toMatchObject([
    { emailVerified: false },
  ])
})

test('an invitation ends when the person who made it is removed or is no longer an owner', async () => {
  const owner = await newOwner()
  for (const lose of ['removePerson', 'changeRole'] as const) {
    const other = await dashboard.person({ accountId: owner.accountId })
    const email = newEmail()
    const { url } = await other.client(PeopleService).invitePerson({ email, role: Role.OWNER })
    const personId = publicId('per', other.personId)
    if (lose === 'removePerson') await owner.people.removePerson({ personId })
    else await owner.people.changeRole({ personId, role: Role.MEMBER })
    expect((await owner.people.listPeople({})).invitations).toEqual([])
    const accept = holder().acceptInvitation({ token: tokenOf(url), name: 'Ann', password: PASSWORD })
    expect(await refusal(accept)).toBe('not_found')
    const [entry] = await account.db
      .select()
      .from(auditEntries)
      .where(eq(auditEntries.target, email))
      .orderBy(desc(auditEntries.id))
    expect(entry).toMatchObject({ action: 'person.withdraw_invitation', actorName: owner.email })
  }
})

/** A person of the account with keys, and keys that are not theirs to lose. */
async function personWithKeys(owner: Awaited<ReturnType<typeof newOwner>>) {
  const { id: elsewhere } = await createAccount(account.db, account.clock, 'Elsewhere')
  const ann = await dashboard.person({ accountId: owner.accountId, role: 'member' })
  await account.db.insert(members).values({ accountId: elsewhere, personId: ann.personId, role: 'member' })
  const create = async (person: Pick<typeof ann, 'client'>, name: string) =>
    (await person.client(KeyService).createKey({ name, scopes: ['emails.read'] })).apiKey!
  const keys = [await create(ann, 'first'), await create(ann, 'second')]
  const revoked = await create(ann, 'revoked')
  await ann.client(KeyService).revokeKey({ keyId: revoked.keyId })
  await create(owner, 'of the owner')
  const there = callsWith(ann.cookie, elsewhere).client(KeyService, dashboard.url)
  await there.createKey({ name: 'elsewhere', scopes: ['emails.read'] })
  const valid = async () =>
    [...(await owner.client(KeyService).listKeys({})).keys, ...(await there.listKeys({})).keys]
      .flatMap(({ name, revokedAt }) => (revokedAt ? [] : [name]))
      .toSorted()
  return { personId: publicId('per', ann.personId), keys, valid }
}

test('the list of keys says which person created each', async () => {
  const owner = await newOwner()
  const { personId } = await personWithKeys(owner)
  const { keys } = await owner.client(KeyService).listKeys({})
  expect(keys.map(({ name, createdBy }) => [name, createdBy])).toEqual([
    ['of the owner', publicId('per', owner.personId)],
    ['revoked', personId],
    ['second', personId],
    ['first', personId],
  ])
})

test('the keys of a removed person are listed and keep working', async () => {
  const owner = await newOwner()
  const { personId, keys, valid } = await personWithKeys(owner)
  expect((await owner.people.removePerson({ personId })).keys).toEqual(keys)
  expect(await valid()).toEqual(['elsewhere', 'first', 'of the owner', 'second'])
})

test('with revoke_keys the keys that a removed person created in the account are revoked, and recorded', async () => {
  const owner = await newOwner()
  const { personId, keys, valid } = await personWithKeys(owner)
  const removed = await owner.people.removePerson({ personId, revokeKeys: true })
  expect(removed.keys.map(({ keyId, revokedAt }) => [keyId, revokedAt !== undefined])).toEqual(
    keys.map(({ keyId }) => [keyId, true]),
  )
  expect(await valid()).toEqual(['elsewhere', 'of the owner'])
  const isRevocation = and(
    eq(auditEntries.accountId, owner.accountId),
    eq(auditEntries.actorName, owner.email),
    eq(auditEntries.action, 'key.revoke'),
  )
  const entries = await account.db.select().from(auditEntries).where(isRevocation).orderBy(asc(auditEntries.id))
  expect(entries.map(({ target }) => target)).toEqual(['first', 'second'])
})

test('who cannot be removed keeps every key', async () => {
  const owner = await newOwner()
  await owner.client(KeyService).createKey({ name: 'mine', scopes: ['emails.read'] })
  const personId = publicId('per', owner.personId)
  expect(await refusal(owner.people.removePerson({ personId, revokeKeys: true }))).toBe('last_owner')
  expect((await owner.client(KeyService).listKeys({})).keys[0]!.revokedAt).toBeUndefined()
})

test('an owner renames the account, and a person themselves; both are in the audit log', async () => {
  const owner = await newOwner()
  const member = await dashboard.person({ accountId: owner.accountId, role: 'member' })
  expect(await refusal(member.client(AccountService).renameAccount({ name: 'Mine' }))).toBe('insufficient_role')
  for (const name of ['', ' ', 'x'.repeat(101), 'a\u202eb']) {
    expect(await refusal(owner.client(AccountService).renameAccount({ name }))).toBe('invalid_payload')
    expect(await refusal(member.client(PersonService).changeName({ name }))).toBe('invalid_payload')
  }
  await owner.client(AccountService).renameAccount({ name: ' Bücher & Co. ' })
  await member.client(PersonService).changeName({ name: 'Ann Example' })
  await member.client(PersonService).changeName({ name: 'Ann Example' })
  expect(await member.client(PersonService).getPerson({})).toMatchObject({
    name: 'Ann Example',
    accounts: [{ name: 'Bücher & Co.' }],
  })
  const entries = await account.db
    .select()
    .from(auditEntries)
    .where(eq(auditEntries.accountId, owner.accountId))
    .orderBy(asc(auditEntries.id))
  expect(entries).toMatchObject([
    { action: 'account.rename', actorName: owner.email, before: { name: 'Web shop' }, after: { name: 'Bücher & Co.' } },
    { action: 'person.rename', target: member.email, before: { name: 'The member' }, after: { name: 'Ann Example' } },
  ])
})

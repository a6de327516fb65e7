import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { DatabaseClock } from '../../server/db/clock.ts'
import { connect, type Database } from '../../server/db/connect.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { dkimKeys, domains } from '../../server/db/schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { beginCheck, createDomain, deleteDomain, findDomain, listDomains } from '../../server/domains/domains.ts'
import { createSenderDomains } from '../../server/domains/sender.ts'
import { type TestAccount, testAccount } from '../harness/account.ts'
import { countWaiting } from '../harness/lock-queue.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { outlast, pauseFor } from '../harness/waits.ts'

const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])
let mine: TestAccount
let db: Database
let clock: DatabaseClock
let accountId: string

mine = await testAccount()
;({ db, clock, accountId } = mine)
const otherId = (await createAccount(db, clock, 'Other')).id

const add = (name: string, status: 'pending' | 'verified', account = accountId) =>
  createDomain({ db, sealer, clock }, { accountId: account, name, status })

test('a domain gets its own RSA-2048 key, whose private half is sealed', async () => {
  const domain = await add('new.example', 'verified')
  expect(domain).toMatchObject({ accountId, name: 'new.example', status: 'verified' })
  const [key, ...more] = domain.dkimKeys
  expect(more).toEqual([])
  expect(key).toMatchObject({ algorithm: 'rsa', selector: expect.stringMatching(/^v\d{8}-[0-9a-f]{8}$/) })
  expect(createPublicKey({ key: key!.publicKey, format: 'der', type: 'spki' }).asymmetricKeyDetails).toMatchObject({
    modulusLength: 2048,
  })
  expect(() => createPrivateKey({ key: key!.privateKey, format: 'der', type: 'pkcs8' })).toThrow()
})

test('the same name again returns the same domain and key; once vouched for, it is verified and stays so', async () => {
  const first = await add('again.example', 'pending')
  expect(first.verifiedAt).toBeNull()
  expect(await add('again.example', 'pending')).toEqual(first)
  const verified = await add('again.example', 'verified')
  expect(verified).toEqual({ ...first, status: 'verified', verifiedAt: expect.any(Date), nextCheckAt: null })
  await outlast(5)
  expect(await add('again.example', 'verified')).toEqual(verified)
  expect(await add('again.example', 'pending')).toEqual(verified)
})

test('many concurrent additions of one name make one domain with one key', async () => {
  const made = await Promise.all(Array.from({ length: 5 }, () => add('race.example', 'pending')))
  expect(new Set(made.map((domain) => `${domain.id} ${domain.dkimKeys.map(({ id }) => id)}`)).size).toBe(1)
})

test('two accounts can have the same domain, each with its own selector, and see only their own', async () => {
  const mine = await add('shared.example', 'verified')
  const theirs = await add('shared.example', 'pending', otherId)
  expect(theirs.dkimKeys[0]!.selector).not.toBe(mine.dkimKeys[0]!.selector)
  expect(await listDomains(db, otherId)).toEqual([theirs])
  expect(await findDomain(db, otherId, 'new.example')).toBeUndefined()
})

test('a sender is found with its key, whose signatures the published half verifies', async () => {
  const domain = await add('sender.example', 'verified')
  const found = await createSenderDomains({ db, sealer }).find(accountId, 'sender.example')
  expect(found).toMatchObject({
    id: domain.id,
    name: 'sender.example',
    status: 'verified',
    returnPathHost: 'rp.sender.example',
  })
  const { key, ...named } = found!.dkimKeys[0]!
  expect(named).toEqual({ selector: domain.dkimKeys[0]!.selector, algorithm: 'rsa' })
  expect(createPublicKey(key).export({ type: 'spki', format: 'der' }).equals(domain.dkimKeys[0]!.publicKey)).toBe(true)
})

test('a domain of another account, or of none, is not found', async () => {
  await add('owned.example', 'verified')
  const senders = createSenderDomains({ db, sealer })
  expect(await senders.find(otherId, 'owned.example')).toBeUndefined()
  expect(await senders.find(accountId, 'nobody.example')).toBeUndefined()
})

test('the DNS of a new domain is checked at once, and never automatically if the operator vouches for it', async () => {
  const pending = await add('asked.example', 'pending')
  expect(pending.nextCheckAt!.getTime()).toBeLessThanOrEqual(clock.now())
  expect((await add('asked.example', 'verified')).nextCheckAt).toBeNull()
  expect((await add('vouched.example', 'verified')).nextCheckAt).toBeNull()
})

test('a verified name belongs to one account: another one can add it, but the operator cannot vouch for it there', async () => {
  await add('taken.example', 'verified')
  const theirs = await add('taken.example', 'pending', otherId)
  await expect(add('taken.example', 'verified', otherId)).rejects.toThrow(
    'taken.example is verified in another account. It has to be removed there first.',
  )
  expect(await findDomain(db, otherId, 'taken.example')).toEqual(theirs)
  await deleteDomain(db, (await findDomain(db, accountId, 'taken.example'))!.id)
  expect(await add('taken.example', 'verified', otherId)).toMatchObject({ id: theirs.id, status: 'verified' })
})

test('a domain may demand TLS, from the start or later, until the demand is withdrawn', async () => {
  const say = (requiresTls?: boolean) =>
    createDomain({ db, sealer, clock }, { accountId, name: 'tls.example', status: 'verified', requiresTls })
  expect((await say()).requiresTls).toBe(false)
  expect((await say(true)).requiresTls).toBe(true)
  expect((await say()).requiresTls).toBe(true)
  expect((await createSenderDomains({ db, sealer }).find(accountId, 'tls.example'))!.requiresTls).toBe(true)
  expect((await say(false)).requiresTls).toBe(false)
})

test('a domain is deleted with its keys, and gets new ones when it is added again', async () => {
  const first = await add('deleted.example', 'pending')
  await deleteDomain(db, first.id)
  expect(await findDomain(db, accountId, 'deleted.example')).toBeUndefined()
  expect(await db.$count(dkimKeys, eq(dkimKeys.domainId, first.id))).toBe(0)
  const again = await add('deleted.example', 'pending')
  expect(again.dkimKeys[0]!.selector).not.toBe(first.dkimKeys[0]!.selector)
})

test('a check of a domain begins 5 s after the previous one at the earliest, in any process', async () => {
  const { id } = await add('often.example', 'pending')
  const begun = await Promise.all([1, 2, 3].map(() => beginCheck(db, id)))
  expect(begun.filter(Boolean)).toHaveLength(1)
  await db.update(domains).set({ checkedAt: sql`now() - interval '4 seconds'` }).where(eq(domains.id, id))
  expect(await beginCheck(db, id)).toBe(false)
  // Postgres rounds to whole milliseconds: a time of exactly 5 s ago can be stored as up to half a millisecond later.
  await db.update(domains).set({ checkedAt: sql`now() - interval '5.001 seconds'` }).where(eq(domains.id, id))
  expect(await beginCheck(db, id)).toBe(true)
})

test('no mail leaves unsigned: a domain whose key is missing, moved or sealed with an unknown key is an error', async () => {
  const gone = await add('gone.example', 'verified')
  await db.delete(dkimKeys).where(eq(dkimKeys.domainId, gone.id))
  const [from, to] = [await add('from.example', 'verified'), await add('to.example', 'verified')]
  await db.update(dkimKeys).set({ privateKey: from.dkimKeys[0]!.privateKey }).where(eq(dkimKeys.domainId, to.id))
  const senders = createSenderDomains({ db, sealer })
  await expect(senders.find(accountId, 'gone.example')).rejects.toThrow('gone.example has no DKIM key')
  await expect(senders.find(accountId, 'to.example')).rejects.toThrow(
    `dkim_keys.private_key of ${to.dkimKeys[0]!.id} does not open`,
  )
  const strangers = createSenderDomains({ db, sealer: createSealer([{ id: 'k2', key: randomBytes(32) }]) })
  await expect(strangers.find(accountId, 'from.example')).rejects.toThrow('ENCRYPTION_KEYS does not name: "k1"')
})

test('many sends from one domain read it once, and see a change within 5 s', async () => {
  const { id } = await add('busy.example', 'verified')
  const locker = connect(mine.url, { connections: 1 })
  await locker.$client`select 1`
  const lock = await locker.$client.reserve()
  const senders = createSenderDomains({ db, sealer })
  await lock`begin`
  await lock`lock table domains in access exclusive mode`
  const finds = Promise.all(Array.from({ length: 100 }, () => senders.find(accountId, 'busy.example')))
  const asked = await countWaiting(lock, '%"domains"%')
  await lock`commit`
  lock.release()
  await locker.$client.end()
  expect(asked).toBe(1)
  expect(new Set(await finds).size).toBe(1)

  await db.update(domains).set({ status: 'lapsed' }).where(eq(domains.id, id))
  const watch = stopwatch()
  while ((await senders.find(accountId, 'busy.example'))!.status !== 'lapsed') {
    // A domain is kept for 5 s.
    expect(watch.ms()).toBeLessThan(5100)
    await pauseFor(20)
  }
})

test('a domain warms up unless it is declared warm, at once or later', async () => {
  const known = (name: string) =>
    createDomain({ db, sealer, clock }, { accountId, name, status: 'verified', warmsUp: false })
  expect((await add('young.example', 'verified')).warmsUp).toBe(true)
  expect((await known('old.example')).warmsUp).toBe(false)
  expect((await known('young.example')).warmsUp).toBe(false)
  expect((await add('young.example', 'verified')).warmsUp).toBe(false)
})

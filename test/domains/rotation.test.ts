import { createPublicKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { removeExpired } from '../../server/db/expiry.ts'
import { newId } from '../../server/db/ids.ts'
import { dkimKeys, domains } from '../../server/db/schema.ts'
import { createDomain, type Domain, findDomainById } from '../../server/domains/domains.ts'
import { recordsOf } from '../../server/domains/records.ts'
import { activateNext, makeNextDkimKey } from '../../server/domains/rotation.ts'
import { createSenderDomains } from '../../server/domains/sender.ts'
import { testAccount } from '../harness/account.ts'

const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])

const account = await testAccount()
const { db, clock, accountId } = account

const add = (name: string, status: 'pending' | 'verified' = 'verified') =>
  createDomain({ db, sealer, clock }, { accountId, name, status })
const next = ({ id }: Domain) => makeNextDkimKey({ db, sealer, clock }, id)
const keysOf = async ({ id }: Domain) => (await findDomainById(db, id))!.dkimKeys
const statesOf = async (domain: Domain) => (await keysOf(domain)).map(({ state }) => state)
/** A sender as a new process finds it. */
const senderOf = async ({ name }: Domain) => (await createSenderDomains({ db, sealer }).find(accountId, name))!
const signing = async (domain: Domain) => (await senderOf(domain)).dkimKeys.map(({ selector }) => selector)

test('the next key is published beside the active one, and signs nothing before its record is seen', async () => {
  const domain = await add('next.example')
  await next(domain)
  const [active, following] = await keysOf(domain)
  expect([active, following]).toMatchObject([{ state: 'active' }, { state: 'next', algorithm: 'rsa' }])
  expect(following!.selector).not.toBe(active!.selector)
  const hosts = { sourceAddresses: [], returnPathHost: undefined, bounceHost: undefined }
  const published = recordsOf((await findDomainById(db, domain.id))!, hosts).filter(({ record }) => record === 'DKIM')
  expect(published.map(({ check, required }) => [check, required])).toEqual([
    [`DKIM:${active!.selector}`, true],
    [`DKIM:${following!.selector}`, false],
  ])
  expect(await signing(domain)).toEqual([active!.selector])
})

test('a second rotation while a key is next keeps that key, also when both run at the same moment', async () => {
  const domain = await add('twice.example')
  await Promise.all([next(domain), next(domain), next(domain)])
  const keys = await keysOf(domain)
  expect(keys.map(({ state }) => state)).toEqual(['active', 'next'])
  await next(domain)
  expect(await keysOf(domain)).toEqual(keys)
})

test('once its record is seen, the next key signs, and the old one is kept for 14 days', async () => {
  const domain = await add('seen.example')
  await next(domain)
  const [old, following] = await keysOf(domain)
  expect(await activateNext(db, domain.id, following!.selector)).toBe(true)
  expect(await signing(domain)).toEqual([following!.selector])
  const { key } = (await senderOf(domain)).dkimKeys[0]!
  expect(createPublicKey(key).export({ type: 'spki', format: 'der' }).equals(following!.publicKey)).toBe(true)
  const [retired, active] = await keysOf(domain)
  expect(active).toMatchObject({ id: following!.id, state: 'active', retiresAt: null })
  expect(retired).toMatchObject({ id: old!.id, state: 'retired' })
  expect((retired!.retiresAt!.getTime() - clock.now()) / 86_400_000).toBeCloseTo(14, 2)
})

test('a retired key is deleted after 14 days by the clock of the database, and no other key is', async () => {
  const domain = await add('gone.example')
  await next(domain)
  const [old, following] = await keysOf(domain)
  await activateNext(db, domain.id, following!.selector)
  await next(domain)
  await removeExpired(db)
  expect(await statesOf(domain)).toEqual(['retired', 'active', 'next'])
  await db.update(dkimKeys).set({ retiresAt: sql`now() - interval '1 second'` }).where(eq(dkimKeys.id, old!.id))
  await removeExpired(db)
  expect(await statesOf(domain)).toEqual(['active', 'next'])
})

test('only the key whose record was seen is activated, once, and in its own domain', async () => {
  const [domain, other] = [await add('mine.example'), await add('other.example')]
  await next(domain)
  await next(other)
  const [active, following] = await keysOf(domain)
  for (const [id, selector] of [
    [domain.id, active!.selector],
    [domain.id, 'v20000101-00000000'],
    [other.id, following!.selector],
    [newId(0), following!.selector],
  ] as const) {
    expect(await activateNext(db, id, selector)).toBe(false)
  }
  expect([await statesOf(domain), await statesOf(other)]).toEqual([
    ['active', 'next'],
    ['active', 'next'],
  ])
  const activated = await Promise.all([1, 2, 3].map(() => activateNext(db, domain.id, following!.selector)))
  expect(activated.filter(Boolean)).toHaveLength(1)
  expect(await statesOf(domain)).toEqual(['retired', 'active'])
})

test('a key of another algorithm goes on signing beside the new one', async () => {
  const domain = await add('both.example')
  const [rsa] = await keysOf(domain)
  const second = { ...rsa!, id: newId(clock.now()), selector: 'ed', algorithm: 'ed25519' } as const
  await db.insert(dkimKeys).values(second)
  await next(domain)
  const following = (await keysOf(domain)).find(({ state }) => state === 'next')!
  await activateNext(db, domain.id, following.selector)
  const states = (await keysOf(domain)).map(({ selector, state }) => [selector, state])
  expect(Object.fromEntries(states)).toEqual({
    [rsa!.selector]: 'retired',
    ed: 'active',
    [following.selector]: 'active',
  })
})

test('DNS is asked at once about a next key, except for a domain that the operator vouches for', async () => {
  const [checked, vouched] = [await add('checked.example', 'pending'), await add('vouched.example')]
  const later = new Date(clock.now() + 3_600_000)
  await db.update(domains).set({ nextCheckAt: later }).where(eq(domains.id, checked.id))
  await next(checked)
  await next(vouched)
  expect((await findDomainById(db, checked.id))!.nextCheckAt!.getTime()).toBeLessThan(clock.now() + 1_000)
  expect((await findDomainById(db, vouched.id))!.nextCheckAt).toBeNull()
})

test('a deleted domain gets no key', async () => {
  const domain = await add('deleted.example')
  await db.delete(domains).where(eq(domains.id, domain.id))
  await next(domain)
  expect(await db.$count(dkimKeys, eq(dkimKeys.domainId, domain.id))).toBe(0)
})

import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { DatabaseClock } from '../../server/db/clock.ts'
import type { Database } from '../../server/db/connect.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId } from '../../server/db/ids.ts'
import { countSealed, reseal } from '../../server/db/reseal.ts'
import { dkimKeys, domains } from '../../server/db/schema.ts'
import { putEndpoint, rotateSecret } from '../../server/webhooks/endpoints.ts'
import { type TestAccount, testAccount } from '../harness/account.ts'

const k1 = { id: 'k1', key: randomBytes(32) }
const k2 = { id: 'k2', key: randomBytes(32) }
const old = createSealer([k1])
let account: TestAccount
let db: Database
let clock: DatabaseClock

beforeEach(async () => {
  account = await testAccount()
  ;({ db, clock } = account)
})
afterEach(() => account.drop())

const placeOf = (id: string) => ({ table: 'dkim_keys', column: 'private_key', id })
const secretOf = (id: string) => Buffer.from(`secret of ${id}`)

/** So many keys of one domain, sealed by the older key. */
async function makeKeys(count: number): Promise<string[]> {
  const { accountId } = account
  const domainId = newId(clock.now())
  await db.insert(domains).values({ id: domainId, accountId, name: 'sealed.example', status: 'pending' })
  const ids = Array.from({ length: count }, () => newId(clock.now()))
  const publicKey = Buffer.alloc(0)
  const row = (id: string) => {
    const privateKey = old.seal(secretOf(id), placeOf(id))
    return { id, domainId, selector: id, algorithm: 'rsa' as const, privateKey, publicKey }
  }
  if (count > 0) await db.insert(dkimKeys).values(ids.map(row))
  return ids
}

/** What the keys hold, as the newer key alone opens them. */
async function opened(): Promise<Map<string, string>> {
  const newer = createSealer([k2])
  const rows = await db.select().from(dkimKeys)
  return new Map(rows.map(({ id, privateKey }) => [id, newer.open(privateKey, placeOf(id)).toString()]))
}
const expected = (ids: string[]) => new Map(ids.map((id) => [id, secretOf(id).toString()]))

test('everything sealed is sealed anew with the first key, and holds what it held', async () => {
  const ids = await makeKeys(3)
  const { accountId } = account
  const url = 'https://hooks.example.com/'
  const parts = { db, sealer: old, clock }
  const { secret: first } = await putEndpoint(parts, accountId, url)
  const { secret: second } = (await rotateSecret(parts, accountId))!

  expect(await countSealed(db, [k2, k1])).toEqual({ total: 5, older: 5 })
  expect(await reseal(db, [k2, k1])).toEqual({ resealed: 5, faults: [] })
  expect(await countSealed(db, [k2, k1])).toEqual({ total: 5, older: 0 })
  expect(await opened()).toEqual(expected(ids))
  const [endpoint] = await db.$client`select * from webhook_endpoints`
  const newer = createSealer([k2])
  const place = (column: string) => ({ table: 'webhook_endpoints', column, id: accountId })
  expect(newer.open(endpoint!.secret, place('secret')).toString()).toBe(second)
  expect(newer.open(endpoint!.previous_secret, place('previous_secret')).toString()).toBe(first)
})

test('a second run has nothing to do, and changes no byte', async () => {
  await makeKeys(2)
  await reseal(db, [k2, k1])
  const rows = await db.select().from(dkimKeys)
  expect(await reseal(db, [k2, k1])).toEqual({ resealed: 0, faults: [] })
  expect(await db.select().from(dkimKeys)).toEqual(rows)
})

test('a run that was ended in the middle is gone on with, and tells its progress', async () => {
  const ids = await makeKeys(250)
  const told: number[] = []
  const ending = reseal(db, [k2, k1], (done) => {
    told.push(done)
    if (done === 200) throw new Error('killed')
  })
  await expect(ending).rejects.toThrow('killed')
  expect(await countSealed(db, [k2, k1])).toEqual({ total: 250, older: 50 })
  expect((await reseal(db, [k2, k1])).resealed).toBe(50)
  expect(told).toEqual([100, 200])
  expect(await opened()).toEqual(expected(ids))
})

test('what does not open stays as it is, is told, and stops nothing else', async () => {
  const [lost, ...ids] = await makeKeys(150)
  const stranger = createSealer([{ id: 'k0', key: randomBytes(32) }])
  const sealed = stranger.seal(Buffer.from('x'), placeOf(lost!))
  await db.$client`update dkim_keys set private_key = ${sealed} where id = ${lost!}`
  expect(await reseal(db, [k2, k1])).toEqual({
    resealed: 149,
    faults: [`dkim_keys.private_key of ${lost} is sealed with a key that ENCRYPTION_KEYS does not name: "k0"`],
  })
  expect(await countSealed(db, [k2, k1])).toEqual({ total: 150, older: 1 })
  const [row] = await db.$client`select private_key from dkim_keys where id = ${lost!}`
  expect(row!.private_key.equals(sealed)).toBe(true)
  await db.$client`delete from dkim_keys where id = ${lost!}`
  expect(await opened()).toEqual(expected(ids))
})

test('a value that is written anew meanwhile is left to its writer', async () => {
  const ids = await makeKeys(10)
  const last = ids.toSorted().at(-1)!
  const written = old.seal(Buffer.from('written meanwhile'), placeOf(last))
  // All ten are read at once; the last is written by somebody else when the first of them is sealed anew.
  await db.$client.unsafe(`
    create function write_last() returns trigger language plpgsql as $$ begin
      update dkim_keys set private_key = '\\x${written.toString('hex')}' where id = '${last}' and old.id <> '${last}';
      return new;
    end $$;
    create trigger write_last after update on dkim_keys for each row when (pg_trigger_depth() = 0)
      execute function write_last()`)
  expect(await reseal(db, [k2, k1])).toEqual({ resealed: 9, faults: [] })
  expect(await countSealed(db, [k2, k1])).toEqual({ total: 10, older: 1 })
  const [row] = await db.$client`select private_key from dkim_keys where id = ${last}`
  expect(row!.private_key.equals(written)).toBe(true)
})

test('a key whose id begins like that of another is told apart', async () => {
  await makeKeys(1)
  const k11 = { id: 'k11', key: randomBytes(32) }
  expect(await countSealed(db, [k1])).toEqual({ total: 1, older: 0 })
  expect(await countSealed(db, [k11, k1])).toEqual({ total: 1, older: 1 })
  await reseal(db, [k11, k1])
  expect(await countSealed(db, [k1, k11])).toEqual({ total: 1, older: 1 })
})

test('without a sealed value there is nothing to do', async () => {
  expect(await countSealed(db, [k2])).toEqual({ total: 0, older: 0 })
  expect(await reseal(db, [k2])).toEqual({ resealed: 0, faults: [] })
})

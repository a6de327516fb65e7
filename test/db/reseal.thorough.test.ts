import { randomBytes } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import type { DatabaseClock } from '../../server/db/clock.ts'
import type { Database } from '../../server/db/connect.ts'
import { eq } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId } from '../../server/db/ids.ts'
import { countSealed, reseal } from '../../server/db/reseal.ts'
import { dkimKeys, domains, webhookEndpoints } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { type EndpointWithSecret, putFirst, rotateSecret } from '../../server/webhooks/endpoints/change-endpoints.ts'
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

const placeOf = (id: string) => ({ table: 'dkim_keys', column: 'private_key', id })
const secretOf = (id: string) => Buffer.from(`secret of ${id}`)

/** Creates that many keys of one domain, sealed by the older key, and returns their ids. */
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

/** The contents of the keys, opened with the newer key alone. */
async function contents(): Promise<Map<string, string>> {
  const newer = createSealer([k2])
  const rows = await db.select().from(dkimKeys)
  return new Map(rows.map(({ id, privateKey }) => [id, newer.open(privateKey, placeOf(id)).toString()]))
}
const expected = (ids: string[]) => new Map(ids.map((id) => [id, secretOf(id).toString()]))

test('all sealed values are sealed anew with the first key and keep their contents', async () => {
  const ids = await makeKeys(3)
  const { accountId } = account
  const url = 'https://hooks.example.com/'
  const parts = { db, sealer: old, clock }
  const { secret: first } = (await putFirst(parts, accountId, { url })) as EndpointWithSecret
  const { secret: second } = (await rotateSecret(parts, accountId, 'first'))!

  expect(await countSealed(db, [k2, k1])).toEqual({ total: 5, older: 5 })
  expect(await reseal(db, [k2, k1])).toEqual({ resealed: 5, faults: [] })
  expect(await countSealed(db, [k2, k1])).toEqual({ total: 5, older: 0 })
  expect(await contents()).toEqual(expected(ids))
  const [endpoint] = await db.select().from(webhookEndpoints)
  const newer = createSealer([k2])
  const place = (column: string) => ({ table: 'webhook_endpoints', column, id: endpoint!.id })
  expect(newer.open(endpoint!.secret, place('secret')).toString()).toBe(second)
  expect(newer.open(endpoint!.previousSecret!, place('previous_secret')).toString()).toBe(first)
})

test('a second run has nothing to do, and changes no byte', async () => {
  await makeKeys(2)
  await reseal(db, [k2, k1])
  const rows = await db.select().from(dkimKeys)
  expect(await reseal(db, [k2, k1])).toEqual({ resealed: 0, faults: [] })
  expect(await db.select().from(dkimKeys)).toEqual(rows)
})

test('the next run continues an interrupted one; a run reports its progress', async () => {
  const ids = await makeKeys(250)
  const reported: number[] = []
  const interrupted = reseal(db, [k2, k1], (done) => {
    reported.push(done)
    if (done === 200) throw new Error('killed')
  })
  await expect(interrupted).rejects.toThrow('killed')
  expect(await countSealed(db, [k2, k1])).toEqual({ total: 250, older: 50 })
  expect((await reseal(db, [k2, k1])).resealed).toBe(50)
  expect(reported).toEqual([100, 200])
  expect(await contents()).toEqual(expected(ids))
})

test('a value that does not open stays as it is, is reported, and stops nothing else', async () => {
  const [lost, ...ids] = await makeKeys(150)
  const stranger = createSealer([{ id: 'k0', key: randomBytes(32) }])
  const sealed = stranger.seal(Buffer.from('x'), placeOf(lost!))
  const isLost = eq(dkimKeys.id, lost!)
  await db.update(dkimKeys).set({ privateKey: sealed }).where(isLost)
  expect(await reseal(db, [k2, k1])).toEqual({
    resealed: 149,
    faults: [`dkim_keys.private_key of ${lost} is sealed with a key that ENCRYPTION_KEYS does not name: "k0"`],
  })
  expect(await countSealed(db, [k2, k1])).toEqual({ total: 150, older: 1 })
  const [row] = await db.select().from(dkimKeys).where(isLost)
  expect(row!.privateKey.equals(sealed)).toBe(true)
  await db.delete(dkimKeys).where(isLost)
  expect(await contents()).toEqual(expected(ids))
})

test('a value that is written meanwhile is left to its writer', async () => {
  const ids = await makeKeys(10)
  const last = ids.toSorted().at(-1)!
  const newValue = old.seal(Buffer.from('written meanwhile'), placeOf(last))
  // All ten are read at once. The trigger writes the last when the first is sealed anew, as another process would.
  await run(
    db,
    `create function write_last() returns trigger language plpgsql as $$ begin
      update dkim_keys set private_key = '\\x${newValue.toString('hex')}' where id = '${last}' and old.id <> '${last}';
      return new;
    end $$;
    create trigger write_last after update on dkim_keys for each row when (pg_trigger_depth() = 0)
      execute function write_last()`,
  )
  expect(await reseal(db, [k2, k1])).toEqual({ resealed: 9, faults: [] })
  expect(await countSealed(db, [k2, k1])).toEqual({ total: 10, older: 1 })
  const [row] = await db.select().from(dkimKeys).where(eq(dkimKeys.id, last))
  expect(row!.privateKey.equals(newValue)).toBe(true)
})

test('a key is distinguished from one whose id it begins with', async () => {
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

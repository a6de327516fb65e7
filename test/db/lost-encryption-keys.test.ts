import { randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { lostKeyFaults } from '../../server/config/lost-key-faults.ts'
import { eq, inArray } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { findUnopenedValues } from '../../server/db/lost-encryption-keys.ts'
import { dkimKeys, domains } from '../../server/db/schema.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { startSendingWorld } from '../sending/world.ts'

const k1 = { id: 'k1', key: randomBytes(32) }
const k2 = { id: 'k2', key: randomBytes(32) }

const world = await startSendingWorld()
beforeAll(async () => {
  const { db, clock, account } = world
  await db.delete(dkimKeys)
  for (const [name, key] of [
    ['one.test', k1],
    ['two.test', k1],
    ['three.test', k2],
  ] as const) {
    await createDomain({ db, sealer: createSealer([key]), clock }, { accountId: account.id, name, status: 'verified' })
  }
})

test('no key is lost while every sealed value can be opened', async () => {
  expect(await findUnopenedValues(world.db, createSealer([k2, k1]))).toEqual([])
})

test('a key that is no longer configured is lost; the report counts the values that it sealed', async () => {
  expect(await findUnopenedValues(world.db, createSealer([k2]))).toEqual([
    {
      key: 'k1',
      table: 'dkim_keys',
      column: 'private_key',
      values: 2,
      why: expect.stringContaining('"k1"'),
      isKeyLost: true,
    },
  ])
})

test('a key with other bytes under the same id is lost', async () => {
  const other = { id: 'k1', key: randomBytes(32) }
  expect(await findUnopenedValues(world.db, createSealer([k2, other]))).toMatchObject([
    { key: 'k1', why: expect.stringContaining('does not open'), isKeyLost: true },
  ])
})

test('a damaged value is reported, and its key is not lost: the key opens other values', async () => {
  const one = world.db.select({ id: domains.id }).from(domains).where(eq(domains.name, 'one.test'))
  const [key] = await world.db.select().from(dkimKeys).where(inArray(dkimKeys.domainId, one))
  const privateKey = Buffer.from(key!.privateKey)
  privateKey[privateKey.length - 1]! ^= 1
  await world.db.update(dkimKeys).set({ privateKey }).where(eq(dkimKeys.id, key!.id))
  expect(await findUnopenedValues(world.db, createSealer([k2, k1]))).toMatchObject([
    { key: 'k1', values: 2, why: expect.stringContaining(key!.id), isKeyLost: false },
  ])
})

test('a lost key is a fault that names the key and the ways out, unless the operator has given it up', async () => {
  const unopened = await findUnopenedValues(world.db, createSealer([k2]))
  expect(lostKeyFaults(unopened, [])).toMatchObject([
    {
      name: 'ENCRYPTION_KEYS',
      why: expect.stringMatching(
        /the key "k1" has sealed \(2 in dkim_keys\)\. Add that key again.*LOST_ENCRYPTION_KEYS=k1$/,
      ),
    },
  ])
  expect(lostKeyFaults(unopened, ['k1'])).toEqual([])
})

test('a value that was never sealed is reported and no key is lost', async () => {
  const one = world.db.select({ id: domains.id }).from(domains).where(eq(domains.name, 'one.test'))
  const privateKey = Buffer.from('00ff010203', 'hex')
  await world.db.update(dkimKeys).set({ privateKey }).where(inArray(dkimKeys.domainId, one))
  const lost = await findUnopenedValues(world.db, createSealer([k2, k1]))
  const why = expect.stringContaining('not a sealed value')
  expect(lost).toMatchObject([{ key: undefined, values: 1, why, isKeyLost: false }])
})

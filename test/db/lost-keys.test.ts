import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSealer } from '../../server/db/encryption.ts'
import { findLostKeys } from '../../server/db/lost-keys.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { startWorld, type World } from '../sending/world.ts'

const k1 = { id: 'k1', key: randomBytes(32) }
const k2 = { id: 'k2', key: randomBytes(32) }

let world: World
beforeAll(async () => {
  world = await startWorld()
  const { db, clock, account } = world
  await db.$client`delete from dkim_keys`
  for (const [name, key] of [
    ['one.test', k1],
    ['two.test', k1],
    ['three.test', k2],
  ] as const) {
    await createDomain({ db, sealer: createSealer([key]), clock }, { accountId: account.id, name, status: 'verified' })
  }
})
afterAll(() => world.stop())

test('no key is lost while every sealed value can be opened', async () => {
  expect(await findLostKeys(world.db, createSealer([k2, k1]))).toEqual([])
})

test('a key that is not given any more is lost, with how many values it sealed', async () => {
  expect(await findLostKeys(world.db, createSealer([k2]))).toEqual([
    { key: 'k1', table: 'dkim_keys', column: 'private_key', values: 2, why: expect.stringContaining('"k1"') },
  ])
})

test('a key whose bytes are others is lost, although its id is there', async () => {
  const other = { id: 'k1', key: randomBytes(32) }
  expect(await findLostKeys(world.db, createSealer([k2, other]))).toMatchObject([
    { key: 'k1', why: expect.stringContaining('does not open') },
  ])
})

test('a value that was never sealed is told and stops nothing', async () => {
  await world.db
    .$client`update dkim_keys set private_key = '\\x00ff010203' where domain_id in (select id from domains where name = 'one.test')`
  const lost = await findLostKeys(world.db, createSealer([k2, k1]))
  expect(lost).toMatchObject([{ values: 1, why: expect.stringContaining('not a sealed value') }])
})

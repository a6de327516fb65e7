import { createHash, randomBytes } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { eq } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { findUnopenedValues } from '../../server/db/lost-encryption-keys.ts'
import { countSealed, reseal } from '../../server/db/reseal.ts'
import { receiptKeys } from '../../server/db/schema.ts'
import type { ReceiptClaims } from '../../server/receipts/claims.ts'
import {
  deleteRetired,
  type KeyParts,
  keyIdOf,
  makeNextReceiptKey,
  readKeys,
} from '../../server/receipts/receipt-keys.ts'
import { createReceiptSigner } from '../../server/receipts/signer.ts'
import { verifyReceipt } from '../../server/receipts/verify-receipt.ts'
import { testAccount } from '../harness/account.ts'

const k1 = { id: 'k1', key: randomBytes(32) }
const k2 = { id: 'k2', key: randomBytes(32) }
const MINUTE_MS = 60_000

const account = await testAccount()
const parts: KeyParts = { db: account.db, clock: account.clock, sealer: createSealer([k1]) }
beforeEach(() => account.db.delete(receiptKeys))

const claims: ReceiptClaims = {
  iss: 'https://mail.example.com',
  sub: 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5',
  iat: 1_769_947_200,
  from_domain: 'example.test',
  created_at: '2026-01-31T12:00:00.000Z',
  sandbox: false,
  recipients: [],
}

/** Makes every key that much older, as if that time had passed. */
async function age(minutes: number): Promise<void> {
  for (const { id, createdAt } of await readKeys(account.db)) {
    await account.db
      .update(receiptKeys)
      .set({ createdAt: new Date(createdAt.getTime() - minutes * MINUTE_MS) })
      .where(eq(receiptKeys.id, id))
  }
}

/** What a process that starts now signs with, and publishes. */
async function startedNow() {
  const signer = createReceiptSigner(parts)
  const jws = await signer.sign(claims)
  const { kid } = JSON.parse(Buffer.from(jws.split('.')[0]!, 'base64url').toString())
  return { jws, kid, keySet: await signer.keySet() }
}

const kidsOf = async () => (await readKeys(account.db)).map(keyIdOf)

test('two processes that need the first key at once create one, and both sign with it', async () => {
  const other = connect(account.url)
  try {
    const signers = [parts, { ...parts, db: other }, parts, { ...parts, db: other }].map(createReceiptSigner)
    const receipts = await Promise.all(signers.map((signer) => signer.sign(claims)))
    expect(await kidsOf()).toHaveLength(1)
    expect(new Set(receipts).size).toBe(1)
  } finally {
    await other.$client.end()
  }
})

test('the first look at the key set creates the first key: an empty set would be cached', async () => {
  const { keys } = await createReceiptSigner(parts).keySet()
  expect(keys).toEqual([
    {
      kty: 'OKP',
      crv: 'Ed25519',
      x: expect.stringMatching(/^[\w-]{43}$/),
      kid: expect.stringMatching(/^rkey_[0-9a-z]{26}$/),
      alg: 'EdDSA',
      use: 'sig',
    },
  ])
})

test('the next key is shown at once, signs after 10 minutes, and receipts of either key stay valid', async () => {
  const before = await startedNow()
  await makeNextReceiptKey(parts)
  const [first, next] = await kidsOf()
  const shown = await startedNow()
  expect(shown.keySet.keys.map(({ kid }) => kid)).toEqual([first, next])
  expect([before.kid, shown.kid]).toEqual([first, first])

  await age(9)
  expect((await startedNow()).kid).toBe(first)
  await age(1)
  const after = await startedNow()
  expect(after.kid).toBe(next)
  for (const { jws } of [before, shown, after]) {
    expect(await verifyReceipt(jws, after.keySet, claims.iss)).toHaveProperty('claims', claims)
  }
})

test('a receipt signed by a process that has not seen the rotation is verified by the newest key set', async () => {
  const running = createReceiptSigner(parts)
  await running.sign(claims)
  await makeNextReceiptKey(parts)
  await age(10)
  await deleteRetired(account.db)
  const receipt = await running.sign(claims)
  const { keySet } = await startedNow()
  expect(await verifyReceipt(receipt, keySet, claims.iss)).toHaveProperty('claims', claims)
})

test('a second rotation waits for the first: there is one next key', async () => {
  await startedNow()
  await Promise.all([makeNextReceiptKey(parts), makeNextReceiptKey(parts), makeNextReceiptKey(parts)])
  expect(await kidsOf()).toHaveLength(2)
  await age(10)
  await makeNextReceiptKey(parts)
  expect(await kidsOf()).toHaveLength(3)
})

test('a rotation without any key creates the first', async () => {
  await makeNextReceiptKey(parts)
  expect([(await startedNow()).kid]).toEqual(await kidsOf())
})

test('the private key is deleted when the next key signs, and not before; the public key stays', async () => {
  await startedNow()
  await makeNextReceiptKey(parts)
  const held = async () => (await readKeys(account.db)).map(({ privateKey }) => privateKey !== null)
  await age(9)
  await deleteRetired(account.db)
  expect(await held()).toEqual([true, true])
  await age(1)
  await deleteRetired(account.db)
  expect(await held()).toEqual([false, true])
  expect((await startedNow()).keySet.keys).toHaveLength(2)
})

test('private keys are sealed for their row, and counted, resealed and missed like other secrets', async () => {
  const { jws } = await startedNow()
  await makeNextReceiptKey(parts)
  await age(10)
  await deleteRetired(account.db)
  const [, { id, privateKey }] = (await readKeys(account.db)) as [unknown, { id: string; privateKey: Buffer }]
  expect(privateKey.subarray(2, 4).toString()).toBe('k1')
  expect(await countSealed(account.db, [k2, k1])).toEqual({ total: 1, older: 1 })
  expect(await findUnopenedValues(account.db, createSealer([k2]))).toMatchObject([{ key: 'k1', table: 'receipt_keys' }])

  expect(await reseal(account.db, [k2, k1])).toEqual({ resealed: 1, faults: [] })
  expect(await findUnopenedValues(account.db, createSealer([k2]))).toEqual([])
  const later = createReceiptSigner({ ...parts, sealer: createSealer([k2]) })
  expect(await verifyReceipt(await later.sign(claims), await later.keySet())).toMatchObject({ kid: keyIdOf({ id }) })
  expect(await verifyReceipt(jws, await later.keySet())).toHaveProperty('claims')
})

test('without the encryption key nothing is signed, and the key set is still served', async () => {
  await startedNow()
  const signer = createReceiptSigner({ ...parts, sealer: createSealer([k2]) })
  await expect(signer.sign(claims)).rejects.toThrow('ENCRYPTION_KEYS does not name')
  expect((await signer.keySet()).keys).toHaveLength(1)
})

test('equal claims and an equal key make equal bytes', async () => {
  const [first, second] = [await startedNow(), await startedNow()]
  const hash = ({ jws }: { jws: string }) => createHash('sha256').update(jws).digest('hex')
  expect(hash(first)).toBe(hash(second))
})

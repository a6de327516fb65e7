import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSealer } from '../../server/db/encryption.ts'

const older = { id: 'k1', key: randomBytes(32) }
const newer = { id: 'k2', key: randomBytes(32) }
const sealer = createSealer([newer, older])
const place = { table: 'dkim_keys', column: 'private_key', id: '0190d0b0-0000-7000-8000-000000000001' }

test('a sealed value opens in its place', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 4096 }), (secret) => {
      expect(sealer.open(sealer.seal(secret, place), place).equals(secret)).toBe(true)
    }),
  )
})

test('the same value sealed twice gives two different results', () => {
  const secret = Buffer.from('secret')
  expect(sealer.seal(secret, place).equals(sealer.seal(secret, place))).toBe(false)
})

test('the first key seals and all of them open', () => {
  const before = createSealer([older]).seal(Buffer.from('old'), place)
  expect(sealer.open(before, place).toString()).toBe('old')
  const after = sealer.seal(Buffer.from('new'), place)
  expect(() => createSealer([older]).open(after, place)).toThrow(
    `dkim_keys.private_key of ${place.id} is sealed with a key that ENCRYPTION_KEYS does not name: "k2"`,
  )
})

test('a value does not open in another table, column or row', () => {
  const sealed = sealer.seal(Buffer.from('secret'), place)
  for (const other of [
    { table: 'endpoints' },
    { column: 'public_key' },
    { id: '0190d0b0-0000-7000-8000-000000000002' },
  ]) {
    expect(() => sealer.open(sealed, { ...place, ...other })).toThrow('does not open')
  }
})

test('a value with a changed bit, or cut off anywhere, does not open', () => {
  const sealed = sealer.seal(Buffer.from('secret'), place)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    expect(() => sealer.open(changed, place)).toThrow(/dkim_keys\.private_key of 0190d0b0/)
  }
  for (let length = 0; length < sealed.length; length++) {
    expect(() => sealer.open(sealed.subarray(0, length), place)).toThrow(/dkim_keys\.private_key of 0190d0b0/)
  }
})

test('another key under the same id does not open a value', () => {
  const impostor = createSealer([{ id: 'k2', key: randomBytes(32) }])
  expect(() => impostor.open(sealer.seal(Buffer.from('secret'), place), place)).toThrow('the key k2 is another one')
})

test('each purpose has its own key for each encryption key, in their order, the same in every process', () => {
  const [first, second] = sealer.deriveKeys('log')
  expect(first).toHaveLength(32)
  expect(first.equals(newer.key)).toBe(false)
  expect(first.equals(second!)).toBe(false)
  expect(first.equals(sealer.deriveKeys('return-path')[0])).toBe(false)
  expect(createSealer([newer]).deriveKeys('log')[0].equals(first)).toBe(true)
})

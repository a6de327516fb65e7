import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId, publicId } from '../../server/db/ids.ts'
import { makeReturnPath, readReturnPath } from '../../server/domains/return-path.ts'
import { anyCharacter } from '../harness/text.ts'

const key = randomBytes(32)
const id = newId(Date.UTC(2026, 0, 1))

test('a return path names its message and is at most 64 octets of lower case, digits and dots', () => {
  const localPart = makeReturnPath(key, id)
  expect(localPart).toMatch(/^b\.[0-9a-z]{26}\.[0-9a-v]{16}$/)
  expect(localPart.length).toBeLessThanOrEqual(64)
  expect(`msg_${localPart.slice(2, 28)}`).toBe(publicId('msg', id))
})

test('it is read in any case, for every message', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 47 }), fc.uint8Array({ minLength: 32, maxLength: 32 }), (atMs, anyKey) => {
      const anyId = newId(atMs)
      const localPart = makeReturnPath(anyKey, anyId)
      expect(readReturnPath([anyKey], localPart)).toBe(anyId)
      expect(readReturnPath([anyKey], localPart.toUpperCase())).toBe(anyId)
    }),
  )
})

test('it is still read after the key was replaced, as long as the old key is configured', () => {
  const localPart = makeReturnPath(key, id)
  const newer = randomBytes(32)
  expect(readReturnPath([newer, key], localPart)).toBe(id)
  expect(readReturnPath([newer], localPart)).toBeUndefined()
})

test('a return path cannot be forged: a change of any character makes it unreadable', () => {
  const localPart = makeReturnPath(key, id)
  for (let at = 0; at < localPart.length; at++) {
    for (const character of '0az.') {
      const forged = localPart.slice(0, at) + character + localPart.slice(at + 1)
      if (forged !== localPart) expect(readReturnPath([key], forged)).toBeUndefined()
    }
  }
})

test('another local part is not a return path, and throws nothing', () => {
  for (const text of [
    '',
    'postmaster',
    'b..',
    `${makeReturnPath(key, id)}x`,
    `b.${'z'.repeat(26)}.${'0'.repeat(16)}`,
  ]) {
    expect(readReturnPath([key], text)).toBeUndefined()
  }
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => readReturnPath([key], text) === undefined))
})

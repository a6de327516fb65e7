import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashKey, hintOfKey, kindOfKey, makeKey } from '../../server/access/api-key.ts'
import { anyCharacter } from '../harness/text.ts'

const key = makeKey('live')

test('a key is its kind, 43 characters of base62 and 6 of checksum', () => {
  expect(makeKey('live')).toMatch(/^svc_live_[0-9A-Za-z]{49}$/)
  expect(makeKey('test')).toMatch(/^svc_test_[0-9A-Za-z]{49}$/)
  expect(kindOfKey(makeKey('live'))).toBe('live')
  expect(kindOfKey(makeKey('test'))).toBe('test')
})

test('no two keys are the same', () => {
  expect(new Set(Array.from({ length: 1000 }, () => makeKey('live'))).size).toBe(1000)
})

test('every single wrong character is detected without the database', () => {
  for (let at = 0; at < key.length; at++) {
    for (const character of 'aA0z_ \u00e9') {
      if (character !== key[at]) expect(kindOfKey(key.slice(0, at) + character + key.slice(at + 1))).toBeUndefined()
    }
  }
})

test('a key with two neighbours swapped, cut off or extended is invalid', () => {
  for (let at = 1; at < key.length; at++) {
    const swapped = key.slice(0, at - 1) + key[at] + key[at - 1] + key.slice(at + 1)
    if (swapped !== key) expect(kindOfKey(swapped)).toBeUndefined()
    expect(kindOfKey(key.slice(0, at))).toBeUndefined()
  }
  for (const text of ['', ` ${key}`, `${key}\n`, `${key}0`, key.toUpperCase()]) expect(kindOfKey(text)).toBeUndefined()
})

test('a live key with the prefix of a test key is invalid', () => {
  expect(kindOfKey(key.replace('live', 'test'))).toBeUndefined()
})

test('no text makes kindOfKey throw', () => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => kindOfKey(text) === undefined))
})

test('a key is stored as its SHA-256 and recognised by its first characters', () => {
  expect(hashKey(key)).toHaveLength(32)
  expect(hashKey(key).equals(hashKey(key))).toBe(true)
  expect(hintOfKey(key)).toBe(key.slice(0, 13))
})

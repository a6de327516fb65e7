import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasControls } from '../../mail/address.ts'
import { metadataFaults, tagFault } from '../../server/sending/metadata.ts'
import { anyCharacter } from '../harness/text.ts'

const faultyFields = (metadata: Record<string, string>) => metadataFaults(metadata).map(({ field }) => field)
const pairs = (count: number, value = 'v') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, value]))

test.each<[string, Record<string, string>]>([
  ['no pair', {}],
  ['20 pairs', pairs(20)],
  ['a key of 40 characters', { ['k'.repeat(40)]: '' }],
  ['every character of a key', { 'A-Z_a.z-09': 'v' }],
  ['an empty value', { key: '' }],
  ['500 characters beyond the first 65,536', { key: '👋'.repeat(500) }],
  ['4,096 bytes', { k: 'ü'.repeat(500), ...pairs(6, 'x'.repeat(500)), last: 'x'.repeat(4_096 - 1_001 - 6 * 504 - 4) }],
  ['names of members of every object', { ['__proto__']: 'v', constructor: 'v', toString: 'v' }],
])('metadata may have %s', (_, metadata) => {
  expect(metadataFaults(metadata)).toEqual([])
})

test.each<[string, Record<string, string>, string[]]>([
  ['21 pairs', pairs(21), ['metadata']],
  ['5 KB', pairs(11, 'x'.repeat(470)), ['metadata']],
  ['5 KB in few characters', pairs(5, '語'.repeat(340)), ['metadata']],
  ['a key with a space', { 'a b': 'v' }, ['metadata["a b"]']],
  ['an empty key', { '': 'v' }, ['metadata[""]']],
  ['a key beyond ASCII', { ключ: 'v' }, ['metadata["ключ"]']],
  ['a key with a line break', { 'a\r\nBcc': 'v' }, ['metadata["a\\r\\nBcc"]']],
  ['a key of 41 characters', { ['k'.repeat(41)]: 'v' }, [`metadata["${'k'.repeat(41)}"]`]],
  [
    'a value of 501 characters',
    { key: 'x'.repeat(501), other: '👋'.repeat(501) },
    ['metadata["key"]', 'metadata["other"]'],
  ],
  ['a value with a line break', { key: 'a\r\nb' }, ['metadata["key"]']],
  ['a value with NUL', { key: 'a\0b' }, ['metadata["key"]']],
  ['a value with half a surrogate pair', { key: '\ud83d' }, ['metadata["key"]']],
])('the faults of metadata with %s name its fields', (_, metadata, fields) => {
  expect(faultyFields(metadata)).toEqual(fields)
})

test('whatever passes is within the limits', () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 600 })
  fc.assert(
    fc.property(
      fc.dictionary(fc.oneof(text, fc.stringMatching(/^[\w.-]{1,40}$/)), text, { maxKeys: 25 }),
      (metadata) => {
        if (metadataFaults(metadata).length > 0) return
        const entries = Object.entries(metadata)
        expect(entries.length).toBeLessThanOrEqual(20)
        expect(Buffer.byteLength(entries.flat().join(''))).toBeLessThanOrEqual(4_096)
        for (const [key, value] of entries) {
          expect(key).toMatch(/^[A-Za-z0-9_.-]{1,40}$/)
          expect([...value].length).toBeLessThanOrEqual(500)
          expect(hasControls(value)).toBe(false)
        }
      },
    ),
  )
})

test('a tag has 1 to 100 characters of any script, and none that controls, hides or reorders text', () => {
  for (const tag of ['a', 'Rechnung März', '請求書', '👩‍💻'.repeat(33), 'می‌خواهم', 'x'.repeat(100), '👋'.repeat(100)]) {
    expect(tagFault(tag), tag).toBeUndefined()
  }
  for (const tag of ['', 'x'.repeat(101), '👋'.repeat(101)]) {
    expect(tagFault(tag), JSON.stringify(tag)).toBe('must have 1 to 100 characters')
  }
  for (const tag of [
    'a\nb',
    'a\0',
    '\u0085',
    '\ud83d',
    'a\u202eb',
    '\u200b',
    '\u2028',
    '\u2066',
    '\u061c',
    '\u{e0041}',
  ]) {
    expect(tagFault(tag), JSON.stringify(tag)).toMatch(/^must not contain U\+[0-9A-F]{4,5}: /)
  }
})

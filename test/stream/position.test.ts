import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSealer } from '../../server/db/encryption.ts'
import { newId } from '../../server/db/ids.ts'
import { BEFORE_ALL, namesEvent, parsePosition, showPosition, startAt } from '../../server/stream/position.ts'

const keyOf = (id: string) => ({ id, key: randomBytes(32) })
const KEY = keyOf('one')
const sealer = createSealer([KEY])
const account = newId(1)
const position = { cluster: '7712333469875223657', timeline: 3, order: 2 ** 44 + 5, id: newId(1_800_000_000_000) }
const show = (one = position) => showPosition(sealer, one, account)
const read = (text: string, ofAccount = account) => parsePosition(sealer, text, ofAccount)

const POSITION = fc.record({
  cluster: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  timeline: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  order: fc.maxSafeNat(),
  id: fc.maxSafeNat().map((ms) => newId(ms % 2 ** 44)),
})

test('a position is read as it was written, by its own account alone', () => {
  fc.assert(
    fc.property(POSITION, (one) => {
      expect(read(show(one))).toEqual(one)
      expect(read(show(one), newId(2))).toBeUndefined()
    }),
  )
})

test('a position tells nothing: its octets are those of random ones, but for the id of its key', () => {
  const head = Buffer.from('\x01\x03one').toString('base64url')
  fc.assert(
    fc.property(POSITION, (one) => {
      expect(show(one)).toBe(show(one))
      const [first, second] = [show(one), show({ ...one, timeline: (one.timeline + 1) % 2 ** 32 })]
      expect([first.startsWith(head.slice(0, -1)), first.length]).toEqual([true, second.length])
      const same = [...first.slice(head.length)].filter((letter, i) => second[head.length + i] === letter)
      expect(same.length).toBeLessThan(16)
    }),
  )
})

test('a position whose key is gone is another fault than a text that is no position', () => {
  expect(parsePosition(createSealer([keyOf('two'), KEY]), show(), account)).toEqual(position)
  expect(parsePosition(createSealer([keyOf('two')]), show(), account)).toBe('unknown_key')
  expect(parsePosition(createSealer([keyOf('one')]), show(), account)).toBeUndefined()
})

test('a position that was cut or changed anywhere is none', () => {
  const text = show()
  // The version, the length of the key's id, and the id.
  const head = 7
  for (let at = 0; at < text.length; at++) {
    expect(read(text.slice(0, at))).toBeUndefined()
    const other = text[at] === 'A' ? 'B' : 'A'
    const changed = read(text.slice(0, at) + other + text.slice(at + 1))
    expect(changed === undefined || (at < head && changed === 'unknown_key')).toBe(true)
  }
  for (const none of [
    '',
    `${text}A`,
    `${text}=`,
    ` ${text}`,
    'begin',
    randomBytes(80).fill(1, 0, 1).fill(0, 1, 2).toString('base64url'),
  ])
    expect([undefined, 'unknown_key']).toContain(read(none))
})

test('a start names no event', () => {
  expect([BEFORE_ALL, startAt(1_800_000_000_000), position].map(namesEvent)).toEqual([false, false, true])
})

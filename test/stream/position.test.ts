import { expect, test } from 'vitest'
import { newId } from '../../server/db/ids.ts'
import { BEFORE_ALL, namesEvent, parsePosition, showPosition, startAt } from '../../server/stream/position.ts'

const account = newId(1)
const position = { cluster: '7712333469875223657', timeline: 3, order: 2 ** 44 + 5, id: newId(1_800_000_000_000) }

test('a position is read as it was written, by its own account alone', () => {
  const text = showPosition(position, account)
  expect(text).toMatch(/^[A-Za-z0-9_-]{58}$/)
  expect(parsePosition(text, account)).toEqual(position)
  expect(parsePosition(text, newId(2))).toBeUndefined()
})

test('a position that was cut or changed anywhere is none', () => {
  const text = showPosition(position, account)
  for (let at = 0; at < text.length; at++) {
    expect(parsePosition(text.slice(0, at), account)).toBeUndefined()
    const other = text[at] === 'A' ? 'B' : 'A'
    expect(parsePosition(text.slice(0, at) + other + text.slice(at + 1), account)).toBeUndefined()
  }
  for (const none of ['', `${text}A`, `${text}=`, ` ${text}`, 'begin'])
    expect(parsePosition(none, account)).toBeUndefined()
})

test('a start names no event', () => {
  expect([BEFORE_ALL, startAt(1_800_000_000_000), position].map(namesEvent)).toEqual([false, false, true])
})

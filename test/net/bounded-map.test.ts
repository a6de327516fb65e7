import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBoundedMap } from '../../net/bounded-map.ts'

test('the oldest entries leave when there are too many, and a value that is set anew is the newest', () => {
  const map = createBoundedMap<number>({ maxEntries: 2 })
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([3, undefined, 4])
})

test('the oldest entries leave until the text of all fits, and a text that does not fit alone is not stored', () => {
  const map = createBoundedMap<string>({ maxEntries: 10, maxCharacters: 10, charactersOf: (value) => value.length })
  map.set('a', 'xx')
  map.set('b', 'xx')
  map.set('c', 'xxxxx')
  expect([map.has('a'), map.has('b'), map.has('c')]).toEqual([false, true, true])
  map.set('b', 'x'.repeat(10))
  expect([map.has('b'), map.has('c')]).toEqual([false, true])
})

test('whatever is set and deleted, neither bound is passed, and what was set last is there', () => {
  const step = fc.tuple(fc.constantFrom('set', 'delete'), fc.string({ maxLength: 4 }), fc.string({ maxLength: 8 }))
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const map = createBoundedMap<string>({ maxEntries: 5, maxCharacters: 20, charactersOf: ({ length }) => length })
      const keys = new Set(steps.map(([, key]) => key))
      for (const [kind, key, value] of steps) {
        if (kind === 'delete') map.delete(key)
        else map.set(key, value)
        expect(map.get(key)).toBe(kind === 'delete' ? undefined : value)
        const held = [...keys].filter((key) => map.has(key))
        expect(held.length).toBeLessThanOrEqual(5)
        expect(held.reduce((sum, key) => sum + key.length + map.get(key)!.length, 0)).toBeLessThanOrEqual(20)
      }
    }),
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import { reasonOf } from '../../server/errors.ts'

/** Counts the tries that are not refused. */
function admitted(tries: number, attempt: (i: number) => unknown): number {
  const results = Array.from({ length: tries }, (_, i) => {
    try {
      attempt(i)
      return 'admitted'
    } catch (error) {
      return reasonOf(error)
    }
  })
  expect(results.every((result) => result === 'admitted' || result === 'rate_limit_exceeded')).toBe(true)
  return results.filter((result) => result === 'admitted').length
}

test('an address has 600 open calls a minute, whatever other addresses do', () => {
  const { count } = createOpenCalls()
  expect(admitted(1_000, () => count('192.0.2.1'))).toBe(600)
  expect(admitted(1, () => count('192.0.2.2'))).toBe(1)
})

test('an address has 50 open streams at a time, and closing one makes room for another', () => {
  const { openStream } = createOpenCalls()
  const closes: (() => void)[] = []
  expect(admitted(150, () => closes.push(openStream('192.0.2.1', () => {})))).toBe(50)
  expect(admitted(1, () => openStream('192.0.2.2', () => {}))).toBe(1)
  closes.pop()!()
  expect(admitted(2, () => openStream('192.0.2.1', () => {}))).toBe(1)
})

test('the addresses of one IPv6 /64 share their streams', () => {
  const { openStream } = createOpenCalls()
  expect(admitted(150, (i) => openStream(`2001:db8:0:1::${i.toString(16)}`, () => {}))).toBe(50)
})

test('whatever addresses hold open, a further one has a stream; the oldest of the largest network ends', () => {
  const address = fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 250 }))
  fc.assert(
    fc.property(fc.array(address, { minLength: 300, maxLength: 600 }), (addresses) => {
      const { openStream } = createOpenCalls()
      const open = new Set<number>()
      addresses.forEach(([network, host], i) => {
        try {
          openStream(`192.0.${network}.${host}`, () => open.delete(i))
          open.add(i)
        } catch {}
      })
      expect(open.size).toBeLessThanOrEqual(250)
      expect(admitted(1, () => openStream('198.51.100.1', () => {}))).toBe(1)
    }),
    { numRuns: 20 },
  )
})

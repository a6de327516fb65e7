import { expect, test } from 'vitest'
import { createStrangers } from '../../server/access/strangers.ts'

/** Counts the visits within the limit. */
function admitted(visit: ReturnType<typeof createStrangers>, visits: number, address: (i: number) => string): number {
  return Array.from({ length: visits }, (_, i) => visit(address(i))).filter(({ over }) => !over).length
}

test('an address has 600 requests without a valid key in a minute', () => {
  let now = 5_000
  const visit = createStrangers(() => now)
  expect(admitted(visit, 1_000, () => '192.0.2.1')).toBe(600)
  expect(visit('192.0.2.1')).toMatchObject({ over: true, limit: 600, leftMs: 60_000 })
  expect(visit('192.0.2.2')).toMatchObject({ over: false })
  now += 59_999
  expect(visit('192.0.2.1')).toMatchObject({ over: true, leftMs: 1 })
  now += 1
  expect(admitted(visit, 1_000, () => '192.0.2.1')).toBe(600)
})

test('a request that had a valid key after all does not count', () => {
  const visit = createStrangers()
  for (let i = 0; i < 1_000; i++) visit('192.0.2.1').forget()
  expect(admitted(visit, 1_000, () => '192.0.2.1')).toBe(600)
})

test('the addresses of one IPv6 /64 count together, those of different /64 separately', () => {
  const visit = createStrangers()
  expect(admitted(visit, 1_000, (i) => `2001:db8:0:1::${i.toString(16)}`)).toBe(600)
  expect(admitted(visit, 1_000, (i) => `2001:db8:0:2:${i.toString(16)}::`)).toBe(600)
})

test('the /64 networks of one /48 share 6,000 requests, and a refused one counts for none of them', () => {
  const visit = createStrangers()
  const ofHex = (network: string) => (i: number) => `2001:db8:${network}:${(i % 100).toString(16)}::1`
  expect(admitted(visit, 20_000, ofHex('1'))).toBe(6_000)
  expect(admitted(visit, 600, ofHex('2'))).toBe(600)
  const other = createStrangers()
  expect(admitted(other, 6_000, () => '2001:db8::1')).toBe(600)
  expect(admitted(other, 6_000, (i) => `2001:db8:0:${(1 + (i % 9)).toString(16)}::1`)).toBe(5_400)
  for (let i = 0; i < 1_000; i++) other('2001:db8:0:a::1').forget()
  expect(admitted(other, 1_000, () => '2001:db8:0:a::1')).toBe(0)
})

test('an IPv4 address is the same in its IPv6 form', () => {
  const visit = createStrangers()
  expect(admitted(visit, 600, () => '::ffff:192.0.2.1')).toBe(600)
  expect(visit('192.0.2.1').over).toBe(true)
  expect(visit('::ffff:192.0.2.2').over).toBe(false)
})

test('texts that are not addresses count together', () => {
  const visit = createStrangers()
  expect(admitted(visit, 1_000, (i) => (i % 2 ? '' : 'unknown'))).toBe(600)
})

test('a flood from any number of addresses takes bounded memory: the oldest windows are dropped', () => {
  const visit = createStrangers()
  expect(admitted(visit, 600, () => '192.0.2.1')).toBe(600)
  for (let i = 0; i < 50_000; i++) visit(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
  expect(visit('192.0.2.1').over).toBe(false)
})

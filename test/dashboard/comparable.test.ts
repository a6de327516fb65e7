import { expect, test } from 'vitest'
import { comparable, isSought } from '../../dashboard/outside-text/comparable.ts'
import { matchingFormOf } from '../../mail/address.ts'

test.each([
  'ANN@Example.COM',
  'ÜSER.Ann@Bücher.example',
  'İI@example.com',
  '\u212aate@example.com',
  'Jose\u0301@example.com',
  '"a b"@example.com',
  'a@\uff45xample.com',
])('the dashboard compares %s as the service does', (address) => {
  expect(comparable(address)).toBe(matchingFormOf(address))
})

test.each([
  'a@example.com/x',
  'a@example.com:80',
  'a@bücher.example?x',
  'a@bü\u00adcher.example',
  'a@bü%63her.example',
])('%s, which is no address, is like no address', (text) => {
  expect(comparable(text)).toBe(text)
})

test.each([
  ['ann', true],
  ['ANN', true],
  ['nn', false],
  ['anna', false],
  ['@Bücher.example', true],
  ['@xn--bcher-kva.example', true],
  ['@example', false],
  ['ann@bücher.example', true],
  ['ann@example', false],
])('an address is found by %s, as the service finds it: %o', (filter, expected) => {
  expect(isSought('Ann@xn--bcher-kva.example', filter)).toBe(expected)
  expect(isSought('müller@example.com', 'MÜLL')).toBe(false)
  expect(isSought('müller@example.com', 'müll')).toBe(true)
})

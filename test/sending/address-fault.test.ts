import { expect, test } from 'vitest'
import { addressFault } from '../../server/sending/address-fault.ts'

const UNKNOWN = 'is not an email address the service can use. Expected ann@example.com or Ann Lee <ann@example.com>'
const SEVERAL = 'holds several addresses. Give them as a list of strings'
const QUOTES = 'has a name that needs quotes, such as "Lee, Ann" <ann@example.com>'
const NO_DOT = 'has a domain without a dot. Expected ann@example.com or Ann Lee <ann@example.com>'

test.each([
  ['ann@example.net,bob@example.net', SEVERAL],
  ['Ann <ann@example.net>; bob@example.net', SEVERAL],
  ['"Lee, Ann" <ann@example.net>, Bob <bob@example.net>', SEVERAL],
  ['Lee, Ann <ann@example.net>', QUOTES],
  ['Ann "Al" Lee <ann@example.net>', QUOTES],
  ['Ann (work) <ann@example.net>', QUOTES],
  // The longest text that is searched, and one of a character more.
  [`Lee,${' '.repeat(977)}<ann@example.net>`, QUOTES],
  [`Lee,${' '.repeat(978)}<ann@example.net>`, UNKNOWN],
  ['a@b', NO_DOT],
  ['Ann <ann@localhost>', NO_DOT],
  [`Ann <ann@${'h'.repeat(60)}>`, NO_DOT],
  [`${'a'.repeat(69)}@example.net`, 'has 69 octets before its @, and 64 are the most'],
  [`Ann <${'é'.repeat(40)}@example.net>`, 'has 80 octets before its @, and 64 are the most'],
  [`${'a'.repeat(65)}@example.net`, 'has 65 octets before its @, and 64 are the most'],
  [`${'a'.repeat(61)}\u200b@example.net`, 'has a character that hides or reorders text, which no address may hold'],
  [`"a@${'a'.repeat(69)}"@example.net`, 'has 73 octets before its @, and 64 are the most'],
  [`"ann@work" <${'a'.repeat(69)}@example.net>`, 'has 69 octets before its @, and 64 are the most'],
  [`${'a'.repeat(69)}@`, UNKNOWN],
  [',', UNKNOWN],
  ['ann', UNKNOWN],
  ['ann@', UNKNOWN],
  ['@example', UNKNOWN],
  ['a@b@c', UNKNOWN],
  ['Ann <ann@example.net, bob@example.net>', UNKNOWN],
  ['Lee, Ann\r\nBcc: eve@example.net <ann@example.net>', UNKNOWN],
  [`${'"'.repeat(1_000_000)}a@b`, UNKNOWN],
])('%.60j: %s', (text, message) => {
  expect(addressFault('cc', text)).toBe(message)
})

test('an empty copy is left out, and to is not', () => {
  expect(addressFault('cc', '')).toBe('is empty; leave it out')
  expect(addressFault('to[1]', '')).toBe('is empty; leave it out')
  expect(addressFault('to', '')).toBe('is empty. Expected ann@example.com or Ann Lee <ann@example.com>')
})

test('from takes one address', () => {
  expect(addressFault('from', 'a@example.net, b@example.net')).toBe('holds several addresses. A message has one sender')
})

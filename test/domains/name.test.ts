import { expect, test } from 'vitest'
import { readDomainName } from '../../server/domains/name.ts'

test.each([
  ['example.com', 'example.com'],
  ['Mail.Example.COM.', 'mail.example.com'],
  ['b\u00fccher.example', 'xn--bcher-kva.example'],
  ['a-b.c1.example', 'a-b.c1.example'],
  [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
])('%s is stored as %s', (text, name) => {
  expect(readDomainName(text)).toBe(name)
})

test.each([
  ...[
    '',
    'localhost',
    '.',
    'example..com',
    '-a.example',
    'a-.example',
    'a_b.example',
    'a b.example',
    'example.com/x',
    'exa\tmple.com',
    'example.com?',
  ],
  ...['192.0.2.1', '0x7f.1', '[::1]', 'user@example.com', 'ex%41mple.com', `${'a'.repeat(64)}.example`],
  `${'a.'.repeat(126)}example`,
])('%j is no domain that can send', (text) => {
  expect(readDomainName(text)).toBeUndefined()
})

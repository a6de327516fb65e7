import { expect, test } from 'vitest'
import { readDomainName, readSendingDomain } from '../../server/domains/name.ts'

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
])('%j is not a domain that can send', (text) => {
  expect(readDomainName(text)).toBeUndefined()
})

test.each([
  ['Example.COM.', 'example.com'],
  ['b\u00fccher.de', 'xn--bcher-kva.de'],
  ['shop.co.uk', 'shop.co.uk'],
  ['news.shop.example.com', 'news.shop.example.com'],
  ['example.test', 'example.test'],
  [`${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example.com`, expect.any(String)],
])('mail may be sent from %s', (text, name) => {
  expect(readSendingDomain(text)).toEqual({ name })
})

test.each([
  ['', 'is required'],
  ['com', 'is a single label'],
  ['localhost.', 'is a single label'],
  ['co.uk', 'is a public suffix, under which others have their domains. Add your own, such as shop.co.uk'],
  ['github.io', 'is a public suffix'],
  ['\u516c\u53f8.cn', 'is a public suffix'],
  ['192.0.2.1', 'is an IP address'],
  ['[2001:db8::1]', 'is an IP address'],
  ['ann@example.com', 'is an email address'],
  ['https://example.com/', 'is a URL'],
  ['*.example.com', 'holds a wildcard'],
  ['exa mple.com', 'is not a domain name'],
  [`${'a.'.repeat(126)}com`, 'has more than 253 characters'],
  [`${'a.'.repeat(101)}com`, undefined],
  [`${'a.'.repeat(102)}com`, 'has 207 characters, and return paths leave room for 205'],
])('%.40s is not a domain to send from: it %s', (text, fault) => {
  expect(readSendingDomain(text)).toEqual(fault ? { fault: expect.stringContaining(fault) } : { name: text })
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mailboxOf } from '../../server/inbound/member.ts'

const RECIPIENT = 'Ann@shop.example.co.uk'

test.each([
  ['ann@shop.example.co.uk', 'same'],
  ['ANN+orders@Shop.Example.co.uk', 'same'],
  ['ann@example.co.uk', 'inside'],
  ['ann@mx7.mail.example.co.uk', 'inside'],
  ['ann@mailhost', 'inside'],
  ['ann@exchange.local', 'inside'],
  ['bob@shop.example.co.uk', 'member'],
  ['ann@gmail.com', 'member'],
  ['ann@other.co.uk', 'member'],
  ['bob@mailhost', 'member'],
  ['ann', 'inside'],
  ['bob', 'member'],
  ['redacted', 'member'],
  ['|/usr/bin/vacation', 'member'],
  ['"ann"@shop.example.co.uk', 'same'],
] as const)('%s is the %s mailbox', (failed, mailbox) => {
  expect(mailboxOf(failed, RECIPIENT)).toBe(mailbox)
})

test('a local part that begins with a plus sign has no label', () => {
  expect(mailboxOf('+ann@example.net', '+bob@example.net')).toBe('member')
})

test('a host below a public suffix that has mail itself is inside', () => {
  expect(mailboxOf('ann@mail.gov.uk', 'ann@gov.uk')).toBe('inside')
})

test('case and labels never make another mailbox', () => {
  const locals = fc.stringMatching(/^[a-z]{1,8}$/)
  fc.assert(
    fc.property(locals, locals, (local, label) => {
      const recipient = `${local}@example.net`
      for (const failed of [`${local}+${label}@EXAMPLE.net`, `${local.toUpperCase()}@example.net`])
        expect(mailboxOf(failed, recipient)).toBe('same')
      if (label !== local) expect(mailboxOf(`${label}@example.net`, recipient)).toBe('member')
    }),
  )
})

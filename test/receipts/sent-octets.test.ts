import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findSentOctets } from '../../server/receipts/sent-octets.ts'

const SENT = [
  'DKIM-Signature: v=1;',
  ' b=abc',
  'Subject: Hello',
  'X: tab',
  '\tfolded',
  '',
  'Subject: not a field',
  '.dot',
  '',
].join('\r\n')
const digestOf = (text: string) => `sha-256:${createHash('sha256').update(text).digest('hex')}`
const DIGEST = digestOf(SENT)
const find = (copy: string, digest = DIGEST) => findSentOctets(Buffer.from(copy), digest)

test('the octets that went out are found as they are, and after the fields that servers have added', () => {
  const added =
    'Return-Path: <a@b.example>\r\nReceived: from x\r\n\tby y; today\r\nAuthentication-Results: y;\r\n dkim=pass\r\n'
  expect(find(SENT)).toEqual({ added: 0 })
  expect(find(added + SENT)).toEqual({ added: added.length })
  expect(find(`From a@b.example Mon Nov 1 2026\r\n${SENT}`)?.added).toBeGreaterThan(0)
})

test('a copy with LF line ends is the same message', () => {
  expect(find(SENT.replaceAll('\r\n', '\n'))).toEqual({ added: 0 })
  expect(find(`Received: x\n${SENT.replaceAll('\r\n', '\n')}`)).toEqual({ added: 'Received: x\r\n'.length })
})

test('a message that was changed, cut or is another one is not found', () => {
  for (const copy of [SENT.replace('Hello', 'Hallo'), SENT.slice(0, -1), `${SENT}\r\n`, `\r\n${SENT}`, '', '\n', 'x']) {
    expect(find(copy)).toBeUndefined()
  }
  expect(find(SENT, digestOf('Subject: not a field\r\n.dot\r\n'))).toBeUndefined()
})

test('a message without any header field is found as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', ':', ' ', '\t', '\r', '\n'), maxLength: 40 }), (rest) => {
      const copy = `a${rest}`
      expect(find(copy, digestOf(copy))).toEqual({ added: 0 })
    }),
  )
})

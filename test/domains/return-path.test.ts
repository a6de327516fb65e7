import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId, publicId } from '../../server/db/ids.ts'
import { findReturnPath, makeReturnPath, readReturnPath } from '../../server/domains/return-path.ts'
import { MAX_RECIPIENTS } from '../../server/sending/recipients.ts'
import { anyCharacter } from '../harness/text.ts'
import { oldReturnPath } from '../inbound/old-return-path.ts'

const key = randomBytes(32)
const id = newId(Date.UTC(2026, 0, 1))
const anyKey = fc.uint8Array({ minLength: 32, maxLength: 32 })
const anyId = fc.nat({ max: 2 ** 47 }).map(newId)
const anyPosition = fc.nat({ max: MAX_RECIPIENTS - 1 })

test('a return path names its message and a recipient, in at most 64 octets of lower case and digits', () => {
  const localPart = makeReturnPath(key, id, 7)
  expect(localPart).toMatch(/^b\+[0-9a-z]{26}07[0-9a-v]{16}$/)
  expect(localPart.length).toBeLessThanOrEqual(64)
  expect(`msg_${localPart.slice(2, 28)}`).toBe(publicId('msg', id))
})

test('it is read in any case, for every message and each of its recipients', () => {
  fc.assert(
    fc.property(anyId, anyPosition, anyKey, (messageId, position, anyKey) => {
      const localPart = makeReturnPath(anyKey, messageId, position)
      expect(readReturnPath([anyKey], localPart)).toEqual({ messageId, position })
      expect(readReturnPath([anyKey], localPart.toUpperCase())).toEqual({ messageId, position })
    }),
  )
})

test('it is found in the text of a report, also where a forwarding server has rewritten it', () => {
  const localPart = makeReturnPath(key, id, 49)
  for (const quoted of [
    `Return-Path: <${localPart}@rp.example.test>`,
    `return-path: ${localPart.toUpperCase()}@RP.EXAMPLE.TEST`,
    `<SRS0=mlif=TQ=rp.example.test=${localPart}@forwarder.example>`,
    `<prvs=4567abcdef=${localPart}@rp.example.test>`,
    `${makeReturnPath(randomBytes(32), id, 0)}@rp.example.test, ${localPart}@rp.example.test`,
  ]) {
    expect(findReturnPath([key], `Received: by x\r\n${quoted}\r\nFrom: a@b\r\n`)).toEqual({
      messageId: id,
      position: 49,
    })
  }
  expect(findReturnPath([key], `${localPart}x@rp.example.test, ${localPart}.x@rp.example.test`)).toBeUndefined()
})

test('it is still read after the key was replaced, as long as the old key is configured', () => {
  const localPart = makeReturnPath(key, id, 0)
  const newer = randomBytes(32)
  expect(readReturnPath([newer, key], localPart)).toEqual({ messageId: id, position: 0 })
  expect(readReturnPath([newer], localPart)).toBeUndefined()
})

test('an address of version 0.1 is read, and names no recipient', () => {
  const localPart = oldReturnPath(key, id)
  expect(localPart).toMatch(/^b\.[0-9a-z]{26}\.[0-9a-v]{16}$/)
  expect(readReturnPath([key], localPart.toUpperCase())).toEqual({ messageId: id })
  expect(findReturnPath([key], `Return-Path: <${localPart}@rp.example.test>`)).toEqual({ messageId: id })
  expect(readReturnPath([randomBytes(32)], localPart)).toBeUndefined()
})

test.each([
  ['', makeReturnPath(key, id, 7)],
  ['of version 0.1 ', oldReturnPath(key, id)],
])('a return path %scannot be forged: a change of any character makes it unreadable', (_, localPart) => {
  for (let at = 0; at < localPart.length; at++) {
    for (const character of '0179az.+') {
      const forged = localPart.slice(0, at) + character + localPart.slice(at + 1)
      if (forged !== localPart) expect(readReturnPath([key], forged)).toBeUndefined()
    }
  }
})

test('whoever knows return paths of a message cannot make one for another position, in either form', () => {
  fc.assert(
    fc.property(anyId, anyPosition, anyPosition, (messageId, own, other) => {
      fc.pre(own !== other)
      const digits = String(other).padStart(2, '0')
      const [known, old] = [makeReturnPath(key, messageId, own), oldReturnPath(key, messageId)]
      const message = known.slice(2, 28)
      for (const mac of [known.slice(-16), old.slice(-16)]) {
        expect(readReturnPath([key], `b+${message}${digits}${mac}`)).toBeUndefined()
      }
      expect(readReturnPath([key], `b.${message}.${known.slice(-16)}`)).toBeUndefined()
    }),
  )
})

test('a position that no message has is not read, even with a right MAC', () => {
  const mac = createHmac('sha256', key).update(`${id}50`).digest().subarray(0, 10)
  const token = BigInt(`0x${mac.toString('hex')}`)
    .toString(32)
    .padStart(16, '0')
  expect(readReturnPath([key], `b+${publicId('msg', id).slice(4)}50${token}`)).toBeUndefined()
})

test('another local part is not a return path, and throws nothing', () => {
  for (const text of [
    '',
    'postmaster',
    'b..',
    'b+',
    `${makeReturnPath(key, id, 0)}x`,
    `b.${'z'.repeat(26)}.${'0'.repeat(16)}`,
    `b+${'z'.repeat(26)}00${'0'.repeat(16)}`,
  ]) {
    expect(readReturnPath([key], text)).toBeUndefined()
  }
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => readReturnPath([key], text) === undefined))
})

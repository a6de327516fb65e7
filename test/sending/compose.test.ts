import { expect, test } from 'vitest'
import { storedRequest } from '../../server/sending/compose.ts'
import { message } from './world.ts'

const FROMS = [
  ['a name without quotes', 'Verdict <hello@example.test>', 'Verdict <hello@example.test>'],
  ['blanks and quotes of their own', '"Verdict"   <hello@example.test>', '"Verdict"   <hello@example.test>'],
  [
    'an encoded word, which only mail programs read',
    '=?utf-8?q?J=C3=BCrg?= <hello@example.test>',
    'Jürg <hello@example.test>',
  ],
]

test.each(FROMS)('from is stored as the caller wrote it: %s', (_, from, stored) => {
  expect(storedRequest(message({ from })).from).toBe(stored)
})

test('copies are stored where there are some, and no empty list where there are none', () => {
  expect(storedRequest(message())).toMatchObject({ to: ['ann@example.net'], cc: undefined, bcc: undefined })
  expect(storedRequest(message({ cc: ['Bob <bob@example.net>'] }))).toMatchObject({
    cc: ['Bob <bob@example.net>'],
    bcc: undefined,
  })
  expect(storedRequest(message({ bcc: ['bob@example.net', 'cy@example.net'] }))).toMatchObject({
    cc: undefined,
    bcc: ['bob@example.net', 'cy@example.net'],
  })
})

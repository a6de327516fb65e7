import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { makeReturnPath } from '../../server/domains/return-path.ts'
import { addresseesOf } from '../../server/inbound/addressee.ts'

const KEYS = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const
const addresseeOf = addresseesOf({ returnPathKeys: KEYS, returnPathHost: 'bounces.example.test' })

test.each([
  ['fbl@bounces.example.test', true],
  ['FBL@Bounces.Example.test', true],
  ['fbl@rp.example.org', true],
  ['fbl@example.org', false],
  ['ann@bounces.example.test', false],
  ['ann@rp.example.org', false],
])('%s takes complaints: %s', (address, takes) => {
  expect(addresseeOf(address)).toEqual(takes ? {} : undefined)
})

test('a return path of a key, at any host and in any case, is the addressee with its address as it came', () => {
  const messageId = randomUUID()
  for (const key of KEYS) {
    const address = `${makeReturnPath(key, messageId, 7)}@moved.example.org`
    for (const spelled of [address, address.toUpperCase()])
      expect(addresseeOf(spelled)).toEqual({ returnPath: { messageId, position: 7 }, address: spelled })
  }
  expect(addresseeOf(`${makeReturnPath(Buffer.alloc(32), messageId, 7)}@bounces.example.test`)).toBeUndefined()
})

import { isIPv6 } from 'node:net'
import type { NetworkInterfaceInfo } from 'node:os'
import { expect, test } from 'vitest'
import { detectSources } from '../../server/domains/detect-sources.ts'

const LOOPBACK = ['127.0.0.1', '::1']

const interfaceOf = (address: string) =>
  ({
    address,
    family: isIPv6(address) ? 'IPv6' : 'IPv4',
    internal: LOOPBACK.includes(address),
  }) as NetworkInterfaceInfo

const machine = (...addresses: string[]) => ({
  lo: LOOPBACK.map(interfaceOf),
  ...Object.fromEntries(addresses.map((address, i) => [`eth${i}`, [interfaceOf(address)]])),
})

test.each([
  ['one public address', ['5.9.10.11'], ['5.9.10.11']],
  ['one of each family', ['5.9.10.11', '2a01:4f8::2', 'fe80::1'], ['5.9.10.11', '2a01:4f8::2']],
  ['private ones beside it', ['5.9.10.11', '10.0.0.2', '172.17.0.1', 'fd00::2'], ['5.9.10.11']],
  ['IPv6 alone', ['2a01:4f8::2', 'fe80::1'], ['2a01:4f8::2']],
])('mail of a machine with %s leaves from there', (_, addresses, detected) => {
  for (const production of [true, false]) {
    expect(detectSources(machine(...addresses), production).addresses).toEqual(detected)
  }
})

test.each([
  ['several of IPv4', ['5.9.10.11', '5.9.10.12'], 'several public addresses: 5.9.10.11, 5.9.10.12'],
  ['several of IPv6', ['5.9.10.11', '2a01:4f8::2', '2a01:4f8::3'], 'several public addresses'],
  ['none', ['10.0.0.2'], 'no public address of its own'],
  ['none of IPv4, which others see translated', ['10.0.0.2', '2a01:4f8::2'], 'no public address of its own'],
  ['loopback alone', [], 'no public address of its own'],
  ['addresses of documentation', ['192.0.2.2'], 'no public address of its own'],
])('the addresses of a machine with %s are unknown, and the operator is told what to set', (_, addresses, words) => {
  const { addresses: detected, detail } = detectSources(machine(...addresses), true)
  expect(detected).toEqual([])
  expect(detail).toContain(words)
  expect(detail).toContain('SMTP_SOURCE_ADDRESSES')
  expect(detail).toContain('SMTP_PUBLIC_ADDRESSES')
})

test('outside production such a machine sends to itself', () => {
  expect(detectSources(machine('10.0.0.2'), false)).toMatchObject({
    addresses: ['127.0.0.1'],
    detail: expect.stringContaining('for development'),
  })
})

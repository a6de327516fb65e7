import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGuard } from '../../net/guard.ts'
import { words } from '../harness/text.ts'

const guard = createGuard({ allowSubnets: [] })

const DIALLED = words(`
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 169.253.255.255
  172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2001:4860:4860::8888
  2606:4700:4700::1111 2a00:1450:4001:830::200e 2001:200::1
`)

test.each(DIALLED)('%s is global unicast and may be dialled', (address) => {
  expect(guard(address)).toBe(true)
})

const REFUSED: [what: string, addresses: string[]][] = [
  ['this network', ['0.0.0.0', '0.255.255.255']],
  ['private use', ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255']],
  ['carrier-grade NAT', ['100.64.0.0', '100.127.255.255']],
  ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
  ['link local and cloud metadata', ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1', 'fe80::1%lo']],
  ['protocol assignments', ['192.0.0.1', '192.0.0.170', '2001:1::1', '2001:1ff::1']],
  ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '3fff:fff::1']],
  ['6to4', ['192.88.99.1', '2002::1', '2002:7f00:1::', '2002:a00:1::1']],
  ['benchmark', ['198.18.0.1', '198.19.255.255', '2001:2::1']],
  ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1']],
  ['reserved and broadcast', ['240.0.0.1', '255.255.255.254', '255.255.255.255']],
  ['AS112 and AMT', ['192.31.196.1', '192.52.193.1', '192.175.48.1', '2620:4f:8000::1', '2001:4:112::1', '2001:3::1']],
  ['unspecified', ['::']],
  ['IPv4-mapped', ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::ffff:7f00:1', '::FFFF:1.1.1.1']],
  ['IPv4-compatible', ['::127.0.0.1', '::8.8.8.8', '::7f00:1']],
  ['IPv4-translated', ['::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8']],
  ['NAT64', ['64:ff9b::127.0.0.1', '64:ff9b::808:808', '64:ff9b:1::1', '64:ff9b:1:ffff::a00:1']],
  ['Teredo', ['2001::1', '2001:0:53aa:64c::1']],
  ['ORCHID and remote id', ['2001:10::1', '2001:20::1', '2001:30::1']],
  ['the host of Azure', ['168.63.129.16']],
  [
    'ISATAP',
    ['2001:4860::5efe:127.0.0.1', '2a00:1450::200:5efe:a00:1', '2606:4700:0:1:0:5efe:a9fe:a9fe', 'fe80::5efe:1'],
  ],
  ['unique local', ['fc00::1', 'fd00:ec2::254', 'fdff:ffff::1']],
  ['site local', ['fec0::1', 'feff::1']],
  ['discard only', ['100::1']],
  ['segment routing', ['5f00::1']],
  ['unassigned', ['4000::1', '6000::1', '8000::1', 'a000::1', 'c000::1', 'e000::1', '1::1', '1fff::1']],
  ['not an address', ['', 'localhost', 'example.com', '127.1', '0x7f.0.0.1', '017700000001', '2130706433', '8.8.8.8 ']],
  [
    'not an address either',
    ['8.8.8', '8.8.8.8.8', '8.8.8.256', '[::1]', '8.8.8.8/32', '08.8.8.8', ':::1', '1.1.1.1\n'],
  ],
]

test.each(REFUSED)('%s is refused', (_, addresses) => {
  for (const address of addresses) expect({ address, allowed: guard(address) }).toEqual({ address, allowed: false })
})

test('an address of ISATAP is refused in every prefix, whatever IPv4 address it hides', () => {
  const part = fc.integer({ min: 0, max: 0xffff }).map((n) => n.toString(16))
  const prefix = fc.tuple(
    fc.integer({ min: 0x2000, max: 0x3fff }).map((n) => n.toString(16)),
    part,
    part,
    part,
  )
  fc.assert(
    fc.property(prefix, fc.constantFrom('0', '200'), fc.tuple(part, part), (network, u, hidden) => {
      expect(guard([...network, u, '5efe', ...hidden].join(':'))).toBe(false)
    }),
  )
})

test('an allowed subnet opens its own range and nothing else', () => {
  const open = createGuard({ allowSubnets: ['127.0.0.0/8', 'fd00::/8', '192.168.7.4/32'] })
  for (const address of ['127.0.0.1', '127.9.9.9', 'fd00::1', '192.168.7.4', '8.8.8.8'])
    expect(open(address)).toBe(true)
  for (const address of ['10.0.0.1', '::1', '::ffff:127.0.0.1', 'fc00::1', '192.168.7.5', '64:ff9b::7f00:1'])
    expect(open(address)).toBe(false)
})

test.each(['10.0.0.0', '10.0.0.0/33', 'ten/8', '127.1/8', 'fd00::/129', ''])('%j is not a subnet', (subnet) => {
  expect(() => createGuard({ allowSubnets: [subnet] })).toThrow(/not a subnet/)
})

test('no IPv6 address that hides an IPv4 one may be dialled', () => {
  const v4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((bytes) => bytes.join('.'))
  const prefixes = ['::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::']
  fc.assert(fc.property(v4, fc.constantFrom(...prefixes), (address, prefix) => !guard(prefix + address)))
})

test('any text gets an answer, and only addresses may be dialled', () => {
  const text = fc.oneof(
    fc.string(),
    fc.ipV4Extended(),
    fc.ipV6(),
    fc.ipV4().map((ip) => `${ip}/8`),
  )
  fc.assert(fc.property(text, (address) => !guard(address) || fc.stringify(address).match(/^"[0-9a-f.:]+"$/i) !== null))
})

test('exactly the IPv4 addresses that the registry calls globally reachable unicast may be dialled', () => {
  const special = (a: number, b: number, c: number) =>
    a === 0 ||
    a === 10 ||
    a === 127 ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && b === 168) ||
    (a === 192 && b === 0 && (c === 0 || c === 2)) ||
    (a === 192 && b === 31 && c === 196) ||
    (a === 192 && b === 52 && c === 193) ||
    (a === 192 && b === 88 && c === 99) ||
    (a === 192 && b === 175 && c === 48) ||
    (a === 198 && (b === 18 || b === 19)) ||
    (a === 198 && b === 51 && c === 100) ||
    (a === 203 && b === 0 && c === 113)
  const byte = fc.nat(255)
  const near = fc.oneof(byte, fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224))
  fc.assert(
    fc.property(near, byte, byte, byte, (a, b, c, d) => guard(`${a}.${b}.${c}.${d}`) === !special(a, b, c)),
    { numRuns: 2_000 },
  )
})

import { decode, encode, RECURSION_AVAILABLE } from 'dns-packet'
import { afterAll, expect, test, vi } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import type { MxLookup, Site } from '../../../mail/smtp/attempt.ts'
import type { Policy } from '../../../mail/smtp/mta-sts.ts'
import { createMxLookUp, type Route } from '../../../mail/smtp/mx.ts'
import { a, aaaa, type DnsAct, type DnsServerForTests, mx, startDns } from '../../harness/dns.ts'

vi.setConfig({ maxConcurrency: 16 })

const open: DnsServerForTests[] = []
afterAll(async () => {
  for (const dns of open.splice(0)) await dns.close()
})

const isPublic = (address: string) => !/^(10\.|127\.|fd|::1$)/.test(address)

interface Options {
  routes?: [string, Route][]
  random?: () => number
  policy?: Policy | 'no_slot'
}

async function world(zone: DnsServerForTests['zone'], { routes = [], random = Math.random, policy }: Options = {}) {
  const dns = await startDns(zone)
  open.push(dns)
  const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 1_500 })
  const asked: string[] = []
  const policyOf = async (domain: string) => {
    asked.push(domain)
    return policy
  }
  const lookUp = createMxLookUp({
    resolver,
    mayDial: isPublic,
    smtpPort: 25,
    routes: new Map(routes),
    policyOf,
    random,
  })
  return { dns, lookUp, asked }
}

function siteOf(lookup: MxLookup): Site {
  if (lookup.kind !== 'site') throw new Error(JSON.stringify(lookup))
  return lookup.site
}

const D = 'example.test'
const records: Record<string, DnsAct> = {
  'A mx1.test': [a('mx1.test', '192.0.2.1')],
  'AAAA mx1.test': 'nodata',
  'A mx2.test': [a('mx2.test', '192.0.2.2')],
  'AAAA mx2.test': 'nodata',
  'A private.test': [a('private.test', '10.0.0.1'), a('private.test', '127.0.0.1')],
  'AAAA private.test': [aaaa('private.test', 'fd00::1')],
  'A half.test': [a('half.test', '10.0.0.1'), a('half.test', '192.0.2.3')],
  'AAAA half.test': 'nodata',
  'A broken.test': 'servfail',
  'AAAA broken.test': 'servfail',
}

/**
 * An MX record that ends after its preference. The next octet is 0: a reader that ignores lengths sees the root's name.
 */
function cutOffMx(query: Buffer): Buffer {
  const { id, questions } = decode(query)
  const reply = encode({ type: 'response', id, flags: RECURSION_AVAILABLE, questions, answers: [mx(D, 0, '.')] })
  reply.writeUInt16BE(2, reply.length - 5)
  return reply
}

const CASES: [string, Record<string, DnsAct>, MxLookup['kind']][] = [
  ['a domain that does not exist', { [`MX ${D}`]: 'nxdomain' }, 'no_mx_record'],
  ['no MX and no address', { [`* ${D}`]: 'nodata' }, 'no_mx_record'],
  ['exchangers that do not exist', { [`MX ${D}`]: [mx(D, 10, 'gone1.test'), mx(D, 20, 'gone2.test')] }, 'no_mx_record'],
  ['an exchanger that can be no name', { [`MX ${D}`]: [mx(D, 10, 'not a name')] }, 'no_mx_record'],
  ['a null MX', { [`MX ${D}`]: [mx(D, 0, '.')] }, 'invalid_address'],
  ['a null MX beside a true one: the true one counts', { [`MX ${D}`]: [mx(D, 0, '.'), mx(D, 10, 'mx1.test')] }, 'site'],
  ['private exchangers only', { [`MX ${D}`]: [mx(D, 10, 'private.test')] }, 'invalid_address'],
  [
    'a private exchanger and one that does not exist',
    { [`MX ${D}`]: [mx(D, 1, 'private.test'), mx(D, 2, 'gone.test')] },
    'invalid_address',
  ],
  ['a private exchanger and a public one', { [`MX ${D}`]: [mx(D, 1, 'private.test'), mx(D, 2, 'mx1.test')] }, 'site'],
  ['localhost as exchanger', { [`MX ${D}`]: [mx(D, 1, 'localhost')] }, 'invalid_address'],
  ['an IPv4 literal as exchanger', { [`MX ${D}`]: [mx(D, 10, '192.0.2.1')] }, 'invalid_address'],
  ['an IPv6 literal as exchanger', { [`MX ${D}`]: [mx(D, 10, '2001:db8::1')] }, 'invalid_address'],
  ['a literal in brackets as exchanger', { [`MX ${D}`]: [mx(D, 10, '[192.0.2.1]')] }, 'invalid_address'],
  ['a literal and a true exchanger', { [`MX ${D}`]: [mx(D, 10, '192.0.2.1'), mx(D, 20, 'mx1.test')] }, 'site'],
  [
    'no MX but an address (implicit MX)',
    { [`MX ${D}`]: 'nodata', [`A ${D}`]: [a(D, '192.0.2.9')], [`AAAA ${D}`]: 'nodata' },
    'site',
  ],
  [
    'no MX but an IPv6 address',
    { [`MX ${D}`]: 'nodata', [`A ${D}`]: 'nodata', [`AAAA ${D}`]: [aaaa(D, '2001:db8::9')] },
    'site',
  ],
  [
    'no MX and a private address',
    { [`MX ${D}`]: 'nodata', [`A ${D}`]: [a(D, '10.0.0.1')], [`AAAA ${D}`]: 'nodata' },
    'invalid_address',
  ],
  ['SERVFAIL for the MX', { [`MX ${D}`]: 'servfail' }, 'our_fault'],
  ['REFUSED for the MX', { [`MX ${D}`]: 'refused' }, 'our_fault'],
  ['an MX record that is cut off before its name', { [`MX ${D}`]: { raw: cutOffMx } }, 'our_fault'],
  ['SERVFAIL for the implicit MX', { [`MX ${D}`]: 'nodata', [`* ${D}`]: 'servfail' }, 'our_fault'],
  ['SERVFAIL for every exchanger', { [`MX ${D}`]: [mx(D, 10, 'broken.test')] }, 'our_fault'],
  [
    'SERVFAIL for one exchanger and none of the other',
    { [`MX ${D}`]: [mx(D, 10, 'broken.test'), mx(D, 20, 'gone.test')] },
    'our_fault',
  ],
  [
    'SERVFAIL for one exchanger and a private other',
    { [`MX ${D}`]: [mx(D, 10, 'broken.test'), mx(D, 20, 'private.test')] },
    'our_fault',
  ],
  [
    'SERVFAIL for one exchanger, the other is there',
    { [`MX ${D}`]: [mx(D, 10, 'broken.test'), mx(D, 20, 'mx1.test')] },
    'site',
  ],
  [
    'SERVFAIL for IPv6 only',
    { [`MX ${D}`]: [mx(D, 10, 'v4.test')], 'A v4.test': [a('v4.test', '192.0.2.4')], 'AAAA v4.test': 'servfail' },
    'site',
  ],
]

test.concurrent.each(CASES)('%s', async (_, zone, kind) => {
  const { lookUp } = await world({ ...records, ...zone })
  const found = await lookUp(D)
  expect(found.kind).toBe(kind)
  // Words for the caller, who knows the domain and not its exchangers.
  if ('detail' in found) expect(found.detail).toMatch(/example\.test .*\w|is no public mail exchanger|accepts no mail/)
})

const enforce = (...mx: string[]): Policy => ({ mode: 'enforce', mx, maxAgeS: 60 })

test.concurrent('under an enforced MTA-STS policy only the permitted exchangers are the site, and the site demands TLS', async () => {
  const [policy, MX] = [enforce('mx2.test', '*.example.test'), [mx(D, 1, 'mx1.test'), mx(D, 2, 'mx2.test')]]
  const { lookUp, asked } = await world({ ...records, 'MX example.test': MX }, { policy })
  expect(siteOf(await lookUp('Example.TEST'))).toMatchObject({
    hosts: [{ name: 'mx2.test', addresses: ['192.0.2.2'] }],
    tlsDemandedBy: 'MTA-STS',
  })
  expect(asked).toEqual([D])
})

test.concurrent('when no slot is free to look up the policy, the look-up is our fault and nothing is sent', async () => {
  const zone = { ...records, 'MX example.test': [mx(D, 1, 'mx1.test')] }
  const { lookUp } = await world(zone, { policy: 'no_slot' })
  expect(await lookUp(D)).toMatchObject({ kind: 'our_fault', cause: expect.stringContaining('no slot') })
})

test.concurrent('an exchanger that the policy permits is found behind many that it does not', async () => {
  const many = Array.from({ length: 20 }, (_, i) => mx(D, i, `evil${i}.test`))
  const zone = { ...records, 'MX example.test': [...many, mx(D, 99, 'mx1.test')] }
  const { dns, lookUp } = await world(zone, { policy: enforce('mx1.test') })
  expect(siteOf(await lookUp(D)).hosts.map(({ name }) => name)).toEqual(['mx1.test'])
  expect(dns.queries.filter((query) => query.includes('evil'))).toEqual([])
})

test.concurrent('a policy that permits none of the exchangers leaves no place to send to', async () => {
  const zone = { ...records, 'MX example.test': [mx(D, 10, 'mx1.test')] }
  const { lookUp } = await world(zone, { policy: enforce('mx2.test', '*.mx1.test') })
  expect(await lookUp(D)).toEqual({
    kind: 'no_permitted_mx',
    detail: 'the MTA-STS policy of example.test permits none of its mail exchangers (mx1.test)',
  })
})

test.concurrent('a domain that is its own exchanger must be in its policy too', async () => {
  const zone: Record<string, DnsAct> = {
    [`MX ${D}`]: 'nodata',
    [`A ${D}`]: [a(D, '192.0.2.9')],
    [`AAAA ${D}`]: 'nodata',
  }
  const permitted = await world(zone, { policy: enforce(D) })
  const forbidden = await world(zone, { policy: enforce(`*.${D}`) })
  expect(siteOf(await permitted.lookUp(D)).tlsDemandedBy).toBe('MTA-STS')
  expect((await forbidden.lookUp(D)).kind).toBe('no_permitted_mx')
})

test.concurrent('a permitted exchanger without an address is no exchanger', async () => {
  const zone = { ...records, 'MX example.test': [mx(D, 10, 'gone.test'), mx(D, 20, 'mx1.test')] }
  const { lookUp } = await world(zone, { policy: enforce('gone.test') })
  expect(await lookUp(D)).toEqual({ kind: 'no_mx_record', detail: expect.stringContaining('MTA-STS') })
})

test.concurrent.each(['testing', 'none'] as const)('a policy in mode %s changes nothing', async (mode) => {
  const zone = { ...records, 'MX example.test': [mx(D, 10, 'mx1.test')] }
  const policy = { ...enforce('mx2.test'), mode }
  const [without, under] = await Promise.all([world(zone), world(zone, { policy })])
  expect(await under.lookUp(D)).toEqual(await without.lookUp(D))
})

test.concurrent('with the same exchangers, sites under a policy and without one share no connections', async () => {
  const zone = { ...records, 'MX example.test': [mx(D, 10, 'mx1.test')] }
  const [without, under] = await Promise.all([world(zone), world(zone, { policy: enforce('mx1.test') })])
  expect(siteOf(await under.lookUp(D)).key).not.toBe(siteOf(await without.lookUp(D)).key)
})

test.concurrent('hosts are in order of preference with the configured port, and those behind the first two come when they are asked for', async () => {
  const { lookUp } = await world({
    ...records,
    'MX example.test': [mx(D, 30, 'half.test'), mx(D, 20, 'mx2.test'), mx(D, 10, 'mx1.test')],
  })
  const { hosts, further } = siteOf(await lookUp('Example.Test.'))
  expect(hosts).toEqual([
    { name: 'mx1.test', preference: 10, addresses: ['192.0.2.1'], port: 25 },
    { name: 'mx2.test', preference: 20, addresses: ['192.0.2.2'], port: 25 },
  ])
  expect((await further!({})).hosts).toEqual([
    { name: 'half.test', preference: 30, addresses: ['192.0.2.3'], port: 25 },
  ])
})

test.concurrent('where one of the first two cannot be asked, all are looked up at once, and none comes later', async () => {
  const { lookUp } = await world({
    ...records,
    'MX example.test': [mx(D, 10, 'gone1.test'), mx(D, 20, 'mx2.test'), mx(D, 30, 'mx1.test')],
  })
  const { hosts, further } = siteOf(await lookUp(D))
  expect(hosts.map(({ name }) => name)).toEqual(['mx2.test', 'mx1.test'])
  expect(further).toBeUndefined()
})

test.concurrent('hosts of equal preference are shuffled for each send', async () => {
  const { lookUp } = await world({ ...records, 'MX example.test': [mx(D, 10, 'mx1.test'), mx(D, 10, 'mx2.test')] })
  const first = new Map<string, number>()
  for (let i = 0; i < 200; i++) {
    const name = siteOf(await lookUp(D)).hosts[0]!.name
    first.set(name, (first.get(name) ?? 0) + 1)
  }
  expect(first.get('mx1.test')).toBeGreaterThan(60)
  expect(first.get('mx2.test')).toBeGreaterThan(60)
})

test.concurrent('both families are listed in turn, at most four addresses of each and no private ones', async () => {
  const { lookUp } = await world({
    'MX example.test': [mx(D, 10, 'many.test')],
    'A many.test': ['10.0.0.1', '192.0.2.1', '192.0.2.2', '192.0.2.3'].map((ip) => a('many.test', ip)),
    'AAAA many.test': ['fd00::1', '2001:db8::1', '2001:db8::2', '2001:db8::3'].map((ip) => aaaa('many.test', ip)),
  })
  const { addresses } = siteOf(await lookUp(D)).hosts[0]!
  expect(addresses.map((address) => (address.includes(':') ? 6 : 4))).toEqual([4, 6, 4, 6, 4, 6])
  expect(addresses.every(isPublic)).toBe(true)
  expect(new Set(addresses).size).toBe(6)
})

test.concurrent('domains with the same exchangers are one site, whatever order and case they are in', async () => {
  const { lookUp } = await world({
    ...records,
    'MX one.test': [mx('one.test', 10, 'mx1.test'), mx('one.test', 20, 'mx2.test')],
    'MX two.test': [mx('two.test', 5, 'MX2.test'), mx('two.test', 5, 'mx1.test'), mx('two.test', 7, 'mx1.test')],
    'MX three.test': [mx('three.test', 10, 'mx1.test')],
  })
  const [one, two, three] = await Promise.all(
    ['one.test', 'two.test', 'three.test'].map(async (name) => siteOf(await lookUp(name))),
  )
  expect(two!.key).toBe(one!.key)
  expect(three!.key).not.toBe(one!.key)
})

test.concurrent('an exchanger listed twice is tried once', async () => {
  const { lookUp } = await world({ ...records, 'MX example.test': [mx(D, 10, 'mx1.test'), mx(D, 20, 'MX1.test')] })
  expect(siteOf(await lookUp(D)).hosts).toHaveLength(1)
})

test.concurrent('of a thousand exchangers at most eight are looked up', async () => {
  const many = Array.from({ length: 1_000 }, (_, i) => mx(D, i, `mx${i}.${D}`))
  const { dns, lookUp } = await world({ 'MX example.test': { overTcp: many } })
  expect((await lookUp(D)).kind).toBe('no_mx_record')
  expect(dns.queries.length).toBeLessThanOrEqual(2 + 8 * 2)
})

test.concurrent('when the first two exchangers can be used, the others are not looked up', async () => {
  const zone = { ...records, 'MX example.test': [mx(D, 10, 'mx1.test'), mx(D, 20, 'mx2.test'), mx(D, 30, 'half.test')] }
  const { dns, lookUp } = await world(zone)
  await lookUp(D)
  expect(dns.count('A half.test')).toBe(0)
})

test.concurrent('a hundred concurrent look-ups of a domain ask each question once', async () => {
  const { dns, lookUp } = await world({ ...records, 'MX example.test': { after: 20, act: [mx(D, 10, 'mx1.test')] } })
  await Promise.all(Array.from({ length: 100 }, () => lookUp(D)))
  expect([...dns.queries].sort()).toEqual(['A mx1.test', 'AAAA mx1.test', 'MX example.test'])
})

test.concurrent('a routed domain goes where its route says, private or not, is a site of its own, and its MX is not asked for', async () => {
  const routes: [string, Route][] = [
    ['ip.test', { host: '127.0.0.1', port: 2525 }],
    ['name.test', { host: 'relay.test', port: 26 }],
    ['local.test', { host: 'localhost', port: 27 }],
    ['lost.test', { host: 'gone.test', port: 28 }],
  ]
  const relay: Record<string, DnsAct> = { 'A relay.test': [a('relay.test', '10.0.0.7')], 'AAAA relay.test': 'nodata' }
  const { dns, lookUp, asked } = await world(relay, { routes, policy: enforce('mx1.test') })
  expect(siteOf(await lookUp('IP.test')).hosts).toEqual([
    { name: '127.0.0.1', preference: 0, addresses: ['127.0.0.1'], port: 2525 },
  ])
  expect(siteOf(await lookUp('name.test')).hosts).toEqual([
    { name: 'relay.test', preference: 0, addresses: ['10.0.0.7'], port: 26 },
  ])
  const keys = ['ip.test', 'name.test', 'local.test'].map(async (domain) => siteOf(await lookUp(domain)).key)
  expect(new Set(await Promise.all(keys)).size).toBe(3)
  expect(siteOf(await lookUp('local.test')).hosts[0]!.addresses).toEqual(['127.0.0.1', '::1'])
  expect(await lookUp('lost.test')).toMatchObject({ kind: 'our_fault', cause: expect.stringContaining('gone.test') })
  expect(dns.queries.filter((query) => query.startsWith('MX'))).toEqual([])
  expect(asked).toEqual([])
})

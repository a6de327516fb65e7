import type { Answer } from 'dns-packet'
import { afterAll, expect, test, vi } from 'vitest'
import { createGuard } from '../../net/guard.ts'
import { createDns } from '../../server/domains/authoritative.ts'
import { a, cname, type DnsServerForTests, ns, startDns, txt } from '../harness/dns.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import type { Zone } from './verifying.ts'

vi.setConfig({ maxConcurrency: 16 })

const open: DnsServerForTests[] = []
afterAll(async () => {
  for (const dns of open.splice(0)) await dns.close()
})

const NAME = 'shop.example.com'
const DELEGATION: Zone = {
  'NS example.com': [ns('example.com', 'ns1.example.net')],
  'A ns1.example.net': [a('ns1.example.net', '127.0.0.1')],
}
const yes = (name: string): Answer[] => [txt(name, 'from the authority')]
const old = (name: string): Answer[] => [txt(name, 'from the resolver')]

/** A resolver, and two servers with authority over the domain, at 127.0.0.1 and 127.0.0.2, on one port. */
async function world(resolverZone: Zone, first: Zone, second?: Zone) {
  const resolver = await startDns({ ...DELEGATION, ...resolverZone })
  const authority = await startDns(first, { authoritative: true })
  const { port } = authority
  const other = second && (await startDns(second, { authoritative: true, host: '127.0.0.2', port }))
  open.push(resolver, authority, ...(other ? [other] : []))
  const mayDial = createGuard({ allowSubnets: ['127.0.0.0/8'] })
  const dnsOf = createDns({ servers: [resolver.address], mayDial, port, queryMs: 1_000, totalMs: 10_000 })
  return { resolver, authority, other, dns: dnsOf(NAME), dnsOf }
}

const values = (texts: string[], aliases: string[] = []) => ({ kind: 'records', values: texts, aliases })

test.concurrent('the servers with authority are asked, without recursion, whatever the resolver has cached', async () => {
  const flags: boolean[] = []
  const first: Zone = {
    [`TXT ${NAME}`]: {
      forge: (reply, query) => {
        flags.push((query as { flag_rd: boolean }).flag_rd)
        return [{ ...reply, answers: yes(NAME) }]
      },
    },
  }
  const { dns, resolver } = await world({ [`TXT ${NAME}`]: old(NAME) }, first)
  expect(await dns.find(NAME, 'TXT')).toEqual(values(['from the authority']))
  expect(flags).toEqual([false])
  expect(resolver.count(`TXT ${NAME}`)).toBe(0)
  expect(await dns.zone()).toBe('example.com')
})

test.concurrent('a record that the resolver denies is found, and one that it makes up is not', async () => {
  const made = `a.${NAME}`
  const { dns } = await world(
    { [`TXT ${NAME}`]: 'nxdomain', [`TXT ${made}`]: old(made) },
    { [`TXT ${NAME}`]: yes(NAME) },
  )
  expect(await dns.find(NAME, 'TXT')).toEqual(values(['from the authority']))
  expect(await dns.find(made, 'TXT')).toEqual({ kind: 'missing', aliases: [], circular: false })
})

test.concurrent('the nearest zone is the one that counts', async () => {
  const nearer = {
    [`NS ${NAME}`]: [ns(NAME, 'ns2.example.net')],
    'A ns2.example.net': [a('ns2.example.net', '127.0.0.2')],
  }
  const { dns, authority } = await world(nearer, { '*': 'nxdomain' }, { [`TXT ${NAME}`]: yes(NAME) })
  expect(await dns.find(NAME, 'TXT')).toEqual(values(['from the authority']))
  expect(await dns.zone()).toBe(NAME)
  expect(authority.queries).toEqual([])
})

test.concurrent('the resolver is asked about names in other zones', async () => {
  const { dns, authority } = await world({ 'TXT example.org': old('example.org') }, { '*': 'refused' })
  expect(await dns.find('example.org', 'TXT')).toEqual(values(['from the resolver']))
  expect(await dns.find('notexample.com', 'TXT')).toMatchObject({ kind: 'missing' })
  expect(authority.queries).toEqual([])
})

test.concurrent('the resolver follows an alias out of the zone, the servers with authority one inside', async () => {
  const [inside, outside] = [`a.${NAME}`, 'rp.operator.example']
  const { dns } = await world(
    { [`TXT ${outside}`]: old(outside) },
    { [`TXT ${NAME}`]: [cname(NAME, inside)], [`TXT ${inside}`]: [cname(inside, outside)] },
  )
  expect(await dns.find(NAME, 'TXT')).toEqual(values(['from the resolver'], [inside, outside]))
})

test.concurrent.each(['servfail', 'refused', 'silence', 'garbage'] as const)(
  'when a server with authority answers with %s, the next one is asked, and then the resolver',
  async (fault) => {
    const two: Zone = {
      'NS example.com': [ns('example.com', 'ns1.example.net'), ns('example.com', 'ns2.example.net')],
      'A ns2.example.net': [a('ns2.example.net', '127.0.0.2')],
      [`TXT a.${NAME}`]: old(`a.${NAME}`),
    }
    const { dns } = await world(two, { '*': fault }, { [`TXT ${NAME}`]: yes(NAME), '*': fault })
    expect(await dns.find(NAME, 'TXT')).toEqual(values(['from the authority']))
    expect(await dns.find(`a.${NAME}`, 'TXT')).toEqual(values(['from the resolver']))
  },
)

test.concurrent('the answer of a server that turns out to have no authority does not count', async () => {
  const lame: Zone = { '*': { forge: (reply) => [{ ...reply, flags: 0, answers: yes(NAME) }] } }
  const { dns } = await world({ [`TXT ${NAME}`]: old(NAME) }, lame)
  expect(await dns.find(NAME, 'TXT')).toEqual(values(['from the resolver']))
})

test.concurrent('a silent server is waited for once in a check', async () => {
  const names = Array.from({ length: 5 }, (_, i) => `${i}.${NAME}`)
  const { dns, authority } = await world(Object.fromEntries(names.map((name) => [`TXT ${name}`, old(name)])), {
    '*': 'silence',
  })
  const watch = stopwatch()
  for (const name of names) expect(await dns.find(name, 'TXT')).toEqual(values(['from the resolver']))
  expect(authority.queries).toHaveLength(1)
  // One timeout of a query is 1 s. Three of them would take longer.
  expect(watch.ms()).toBeLessThan(2_700)
})

test.concurrent('servers at addresses that may not be dialled are not asked', async () => {
  const { resolver, authority } = await world({ [`TXT ${NAME}`]: old(NAME) }, { [`TXT ${NAME}`]: yes(NAME) })
  const mayDial = createGuard({ allowSubnets: [] })
  const dns = createDns({ servers: [resolver.address], mayDial, port: authority.port, queryMs: 1_000 })(NAME)
  expect(await dns.find(NAME, 'TXT')).toEqual(values(['from the resolver']))
  expect(authority.queries).toEqual([])
})

test.concurrent('an answer too long for UDP comes over TCP', async () => {
  const { dns, authority } = await world({}, { [`TXT ${NAME}`]: { overTcp: yes(NAME) } })
  expect(await dns.find(NAME, 'TXT')).toEqual(values(['from the authority']))
  expect(authority.queries).toEqual([`TXT ${NAME}`, `tcp TXT ${NAME}`])
})

test.concurrent('each question is asked once in a check, and again in the next', async () => {
  const { dnsOf, authority } = await world({}, { [`TXT ${NAME}`]: (times) => (times === 0 ? 'nxdomain' : yes(NAME)) })
  const [first, second] = [dnsOf(NAME), dnsOf(NAME)]
  const both = await Promise.all([first.find(NAME, 'TXT'), first.find(NAME.toUpperCase(), 'TXT')])
  expect(both.map(({ kind }) => kind)).toEqual(['missing', 'missing'])
  expect(await second.find(NAME, 'TXT')).toEqual(values(['from the authority']))
  expect(authority.count(`TXT ${NAME}`)).toBe(2)
})

test.concurrent('no server is asked about impossible names', async () => {
  const { dns, authority } = await world({}, { '*': yes(NAME) })
  for (const name of [
    `${'a'.repeat(64)}.${NAME}`,
    `a..${NAME}`,
    `ä.${NAME}`,
    `a b.${NAME}`,
    `${'a.'.repeat(125)}${NAME}`,
  ]) {
    expect(await dns.find(name, 'TXT')).toMatchObject({ kind: 'missing' })
  }
  expect(authority.queries).toEqual([])
})

test.concurrent('a circle of aliases, and a chain that is too long, end', async () => {
  const chain: Zone = { [`TXT ${NAME}`]: [cname(NAME, `0.${NAME}`)] }
  for (let i = 0; i < 20; i++) chain[`TXT ${i}.${NAME}`] = [cname(`${i}.${NAME}`, `${i + 1}.${NAME}`)]
  const { dns } = await world({}, { ...chain, [`TXT me.${NAME}`]: [cname(`me.${NAME}`, `me.${NAME}`)] })
  expect(await dns.find(NAME, 'TXT')).toMatchObject({ kind: 'missing', circular: true })
  expect(await dns.find(`me.${NAME}`, 'TXT')).toEqual({ kind: 'missing', aliases: [], circular: true })
})

test.concurrent('without a server that answers, the result is unknown', async () => {
  const dns = createDns({ servers: [], mayDial: () => true })(NAME)
  expect(await dns.find(NAME, 'TXT')).toEqual({ kind: 'unanswered', cause: 'no DNS server is configured' })
})

test.concurrent('an aborted check asks no more questions', async () => {
  const { dnsOf, authority, resolver } = await world({}, { '*': yes(NAME) })
  const dns = dnsOf(NAME, AbortSignal.abort())
  expect(await dns.find(NAME, 'TXT')).toMatchObject({ kind: 'unanswered' })
  expect([...authority.queries, ...resolver.queries]).toEqual([])
})

import { isIPv4 } from 'node:net'
import { AUTHORITATIVE_ANSWER, decode, encode, type Packet, RECURSION_AVAILABLE } from 'dns-packet'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import { a, aaaa, cname, type DnsServerForTests, mx, startDns, txt } from '../../harness/dns.ts'
import { stopwatch } from '../../harness/stopwatch.ts'
import { dnsOfFile } from './servers.ts'

vi.setConfig({ maxConcurrency: 16 })

const dnsWith = dnsOfFile()

test.concurrent('MX, A and AAAA records come with their TTL', async () => {
  const { resolver } = await dnsWith({
    'MX example.test': [mx('example.test', 20, 'MX2.example.test', 90), mx('example.test', 10, 'mx1.example.test', 60)],
    'A mx1.example.test': [a('mx1.example.test', '192.0.2.1', 30), a('mx1.example.test', '192.0.2.2', 30)],
    'AAAA mx1.example.test': [aaaa('mx1.example.test', '2001:db8::1', 30)],
  })
  expect(await resolver.mx('example.test')).toEqual({
    kind: 'records',
    ttlS: 60,
    records: [
      { name: 'mx1.example.test', preference: 10 },
      { name: 'mx2.example.test', preference: 20 },
    ],
  })
  expect(await resolver.a('mx1.example.test')).toEqual({
    kind: 'records',
    ttlS: 30,
    records: ['192.0.2.1', '192.0.2.2'],
  })
  expect(await resolver.aaaa('mx1.example.test')).toEqual({ kind: 'records', ttlS: 30, records: ['2001:db8::1'] })
})

test.concurrent('the strings of a TXT record are joined, and no octet of it is lost', async () => {
  const latin = Buffer.from([0xe9, 0x00, 0xff])
  const { resolver } = await dnsWith({
    'TXT example.test': [
      txt('example.test', ['v=spf1 ', '-all'], 60),
      txt('example.test', ''),
      txt('example.test', []),
    ],
    'TXT raw.test': [{ type: 'TXT', name: 'raw.test', ttl: 300, data: latin }],
  })
  expect(await resolver.txt('example.test')).toEqual({ kind: 'records', ttlS: 60, records: ['v=spf1 -all', '', ''] })
  expect(await resolver.txt('raw.test')).toMatchObject({ records: [latin.toString('latin1')] })
  expect(await resolver.txt('none.test')).toEqual({ kind: 'nxdomain' })
})

test.concurrent('short texts are cached, long ones are not', async () => {
  const strings = Array.from({ length: 34 }, () => 'x'.repeat(250))
  const { dns, resolver } = await dnsWith({
    'TXT short.test': [txt('short.test', strings.slice(0, 3))],
    'TXT long.test': { overTcp: [txt('long.test', strings)] },
  })
  for (const name of ['short.test', 'long.test', 'short.test', 'long.test']) await resolver.txt(name)
  expect([dns.count('TXT short.test'), dns.count('tcp TXT long.test')]).toEqual([1, 2])
})

test.concurrent('a name that does not exist differs from a name without such a record', async () => {
  const { resolver } = await dnsWith({ 'MX gone.test': 'nxdomain', 'MX plain.test': 'nodata' })
  expect(await resolver.mx('gone.test')).toEqual({ kind: 'nxdomain' })
  expect(await resolver.mx('plain.test')).toEqual({ kind: 'nodata' })
})

test.concurrent.each(['servfail', 'refused', 'silence', 'garbage'] as const)(
  '%s is a failure after two tries',
  async (fault) => {
    const { dns, resolver } = await dnsWith({ 'MX example.test': fault }, { queryTimeoutMs: 300 })
    const watch = stopwatch()
    expect(await resolver.mx('example.test')).toEqual({
      kind: 'failure',
      cause: expect.stringContaining('MX example.test'),
      ...(fault === 'servfail' && { isServfail: true }),
    })
    expect(dns.count('MX example.test')).toBe(2)
    // Two timeouts of 300 ms, with much room: a third query is counted above.
    expect(watch.ms()).toBeLessThan(4_500)
  },
)

test.concurrent('a closed port is a failure at once', async () => {
  const dns = await startDns()
  await dns.close()
  const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 5_000 })
  const watch = stopwatch()
  expect(await resolver.mx('example.test')).toMatchObject({
    kind: 'failure',
    cause: expect.stringContaining('ECONNREFUSED'),
  })
  // Less than one timeout of a query, 5 s.
  expect(watch.ms()).toBeLessThan(4_000)
})

test.concurrent('silent domains of one account leave slots for other accounts, and their look-ups wait until their deadline', async () => {
  const { dns } = await dnsWith({ '*': 'silence', 'A good.test': [a('good.test', '192.0.2.1')] })
  const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 3_000, slots: 10 })
  const untilMs = performance.now() + 500
  const silent = Array.from({ length: 100 }, (_, i) => resolver.a(`silent-${i}.test`, { accountId: 'a', untilMs }))
  expect(await resolver.a('good.test', { accountId: 'b', untilMs })).toMatchObject({ records: ['192.0.2.1'] })
  const waited = await Promise.all(silent.slice(8))
  expect(waited).toEqual(
    waited.map(() => ({ kind: 'failure', cause: expect.stringContaining('no slot'), noSlot: true })),
  )
  expect(dns.queries.filter((query) => query.includes('silent'))).toHaveLength(8)
})

test.concurrent('a look-up waits neither for a caller that gave up nor in the queue of another account that looks up the same name', async () => {
  const { dns } = await dnsWith({ '*': 'silence', 'A good.test': [a('good.test', '192.0.2.1')] })
  const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 2_000, slots: 5 })
  const caller = new AbortController()
  const names = Array.from({ length: 20 }, (_, i) => `silent-${i}.test`)
  const all = [...names, 'good.test'].map((name) => resolver.a(name, { accountId: 'a', signal: caller.signal }))
  expect(await resolver.a('good.test', { accountId: 'b' })).toMatchObject({ records: ['192.0.2.1'] })
  caller.abort()
  expect(await all.at(-1)).toMatchObject({ kind: 'failure', noSlot: true })
})

test.concurrent('a look-up that throws is not shared with later look-ups', async () => {
  const { dns } = await dnsWith({ 'A good.test': [a('good.test', '192.0.2.1')] })
  const brokenOnce = vi
    .fn(() => 0)
    .mockImplementationOnce(() => {
      throw new Error('no clock')
    })
  const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 5_000, now: brokenOnce })
  await expect(resolver.a('good.test')).rejects.toThrow('no clock')
  expect(await resolver.a('good.test')).toMatchObject({ records: ['192.0.2.1'] })
})

test.concurrent('a resolver without a server fails', async () => {
  expect(await createResolver({ servers: [] }).mx('example.test')).toMatchObject({
    kind: 'failure',
    cause: expect.stringContaining('set DNS_SERVERS'),
  })
})

test.concurrent('the second try goes to the second server', async () => {
  const bad = await dnsWith({ '*': 'servfail' })
  const good = await dnsWith({ 'A example.test': [a('example.test', '192.0.2.1')] })
  const resolver = createResolver({ servers: [bad.dns.address, good.dns.address], ...good.options })
  expect(await resolver.a('example.test')).toMatchObject({ kind: 'records', records: ['192.0.2.1'] })
  expect([bad.dns.queries.length, good.dns.queries.length]).toEqual([1, 1])
})

test.concurrent('a failed first try does not matter when the second is answered', async () => {
  const zone: DnsServerForTests['zone'] = {
    'A example.test': (times) => (times === 0 ? 'silence' : [a('example.test', '192.0.2.1')]),
  }
  const { resolver } = await dnsWith(zone, { queryTimeoutMs: 1_500 })
  expect(await resolver.a('example.test')).toMatchObject({ kind: 'records' })
})

test.concurrent('failures are never cached', async () => {
  const { dns, resolver } = await dnsWith({ 'A example.test': 'servfail' })
  await resolver.a('example.test')
  dns.zone['A example.test'] = [a('example.test', '192.0.2.1')]
  expect(await resolver.a('example.test')).toMatchObject({ kind: 'records' })
})

test.concurrent.each([
  ['records by their TTL', [a('example.test', '192.0.2.1', 100)], 100],
  ['records for an hour at most', [a('example.test', '192.0.2.1', 86_400)], 3_600],
  ['an alias by the lowest TTL', [cname('example.test', 'b.test', 20), a('b.test', '192.0.2.1', 100)], 20],
  ['a missing record for a minute', 'nodata' as const, 60],
  ['a missing name for a minute', 'nxdomain' as const, 60],
])('%s are cached', async (_, act, seconds) => {
  const { dns, clock, resolver } = await dnsWith({ 'A example.test': act })
  await resolver.a('example.test')
  clock.ms = seconds * 1_000 - 1
  await resolver.a('EXAMPLE.test.')
  expect(dns.count('A example.test')).toBe(1)
  clock.ms = seconds * 1_000
  await resolver.a('example.test')
  expect(dns.count('A example.test')).toBe(2)
})

test.concurrent.each([0, 0x80000000, 0xffffffff])('a TTL of %i is not cached', async (ttl) => {
  const { dns, resolver } = await dnsWith({ 'A example.test': [a('example.test', '192.0.2.1', ttl)] })
  await resolver.a('example.test')
  await resolver.a('example.test')
  expect(dns.count('A example.test')).toBe(2)
})

test.concurrent('a hundred concurrent equal questions are asked once', async () => {
  const { dns, resolver } = await dnsWith({
    'MX example.test': { after: 30, act: [mx('example.test', 10, 'mx.test', 0)] },
  })
  const answers = await Promise.all(Array.from({ length: 100 }, () => resolver.mx('example.test')))
  expect(new Set(answers).size).toBe(1)
  expect(dns.queries).toEqual(['MX example.test'])
})

test.concurrent('an alias is followed as far as the answer goes', async () => {
  const { resolver } = await dnsWith({
    'A alias.test': [
      cname('alias.test', 'B.test'),
      cname('b.test', 'c.test'),
      a('C.test', '192.0.2.1'),
      a('d.test', '192.0.2.9'),
    ],
    'A dangling.test': [cname('dangling.test', 'b.test')],
  })
  expect(await resolver.a('alias.test')).toMatchObject({ kind: 'records', records: ['192.0.2.1'] })
  expect(await resolver.a('dangling.test')).toEqual({ kind: 'nodata' })
})

test('only a whole answer to the question proves that a record does not exist', async () => {
  const { dns, resolver } = await dnsWith({})
  const world = fc.record({
    aliases: fc.nat(20),
    end: fc.constantFrom('records', 'other type', 'nothing', 'circle'),
    /** Records of another name, in an order that proves nothing. */
    strays: fc.nat(2),
    isFirst: fc.boolean(),
    flags: fc.constantFrom(RECURSION_AVAILABLE, AUTHORITATIVE_ANSWER, RECURSION_AVAILABLE | AUTHORITATIVE_ANSWER, 0),
  })
  let times = 0
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(world, async ({ aliases, end, strays, isFirst, flags }) => {
      const names = Array.from({ length: aliases + 1 }, (_, i) => `${i}.${++times}.test`)
      const last = names[aliases]!
      const ends = {
        records: [a(last, '192.0.2.1')],
        'other type': [aaaa(last, '2001:db8::1')],
        nothing: [],
        circle: [cname(last, names[0]!)],
      }
      const chain = names.slice(1).map((name, i) => cname(names[i]!, name))
      const stray = Array.from({ length: strays }, (_, i) => a(`stray${i}.test`, '192.0.2.9'))
      const answers = [...(isFirst ? stray : []), ...chain, ...ends[end], ...(isFirst ? [] : stray)]
      dns.zone['*'] = { forge: (reply) => [{ ...reply, flags, answers }] }
      const { kind } = await resolver.a(names[0]!)
      seen.add(kind)
      // A server that does not look beyond its own zones knows nothing of the end of an alias.
      const knows =
        flags & RECURSION_AVAILABLE || (flags & AUTHORITATIVE_ANSWER && chain.length + ends[end].length === 0)
      if (end === 'records') expect(kind).toBe(aliases > 8 ? 'failure' : 'records')
      else expect(kind).toBe(end !== 'circle' && aliases <= 8 && strays === 0 && knows ? 'nodata' : 'failure')
    }),
    { numRuns: 200 },
  )
  expect([...seen].sort()).toEqual(['failure', 'nodata', 'records'])
})

test.concurrent('a truncated answer is requested again over TCP', async () => {
  const many = Array.from({ length: 1_000 }, (_, i) => mx('big.test', i, `mx${i}.big.test`))
  const { dns, resolver } = await dnsWith({ 'MX big.test': { overTcp: many } })
  const answer = await resolver.mx('big.test')
  expect(dns.queries).toEqual(['MX big.test', 'tcp MX big.test'])
  expect(answer).toMatchObject({ kind: 'records' })
  const { records } = answer as { records: { preference: number }[] }
  expect(records.map(({ preference }) => preference)).toEqual(Array.from({ length: 50 }, (_, i) => i))
})

test.concurrent.each(['silence', 'close'] as const)('%s over TCP fails in time', async (fault) => {
  const { resolver } = await dnsWith({ 'MX big.test': { overTcp: fault } }, { queryTimeoutMs: 300 })
  const watch = stopwatch()
  expect(await resolver.mx('big.test')).toMatchObject({ kind: 'failure' })
  // The timeout is 300 ms. Without one it would wait for ever.
  expect(watch.ms()).toBeLessThan(4_500)
})

test.concurrent('answers of up to 1,232 octets come over UDP (EDNS)', async () => {
  const { dns, resolver } = await dnsWith({
    'MX wide.test': { forge: (reply, query) => (sizeOf(query) === 1_232 ? [{ ...reply, answers: many }] : []) },
  })
  const many = Array.from({ length: 20 }, (_, i) => mx('wide.test', i, `exchanger-number-${i}.of.a.long.name.test`))
  const answer = await resolver.mx('wide.test')
  expect(answer).toMatchObject({ kind: 'records' })
  expect((answer as { records: object[] }).records).toHaveLength(20)
  expect(dns.queries).toEqual(['MX wide.test'])
})

/** The octets over UDP that a query announces to accept. */
function sizeOf({ additionals = [] }: Packet): number {
  const [opt] = additionals
  return opt?.type === 'OPT' ? (opt.udpPayloadSize ?? 0) : 512
}

test.concurrent.each([
  ['FORMERR', 1, true],
  ['FORMERR in a bare header', 1, false],
  ['NOTIMP', 4, true],
] as const)('a server that knows no EDNS and says %s is asked again without', async (_, rcode, repeatsQuestion) => {
  const { dns, resolver } = await dnsWith({
    'A old.test': {
      forge: (reply, query) =>
        query.additionals?.length
          ? [{ ...reply, flags: RECURSION_AVAILABLE | rcode, questions: repeatsQuestion ? reply.questions : [] }]
          : [{ ...reply, answers: [a('old.test', '192.0.2.1')] }],
    },
  })
  expect(await resolver.a('old.test')).toMatchObject({ kind: 'records', records: ['192.0.2.1'] })
  expect(dns.queries).toEqual(['A old.test', 'A old.test'])
})

test.concurrent('a message that does not answer the question is ignored, and the true answer still counts', async () => {
  const { resolver } = await dnsWith({
    'A example.test': {
      forge: (reply) => {
        const lie = { ...reply, answers: [a('example.test', '192.0.2.66')] }
        const name = reply.questions![0]!.name
        const other = name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase()
        return [
          { ...lie, id: (reply.id! + 1) % 65_536 },
          { ...lie, questions: [] },
          { ...lie, questions: [{ type: 'A', name: 'other.test' }] },
          { ...lie, questions: [{ type: 'A', name: other }] },
          { ...lie, questions: [{ type: 'AAAA', name }] },
          { ...lie, questions: [...reply.questions!, ...reply.questions!] },
          { ...lie, type: 'query' },
          { ...reply, answers: [a('example.test', '192.0.2.1')] },
        ]
      },
    },
  })
  expect(await resolver.a('example.test')).toMatchObject({ kind: 'records', records: ['192.0.2.1'] })
})

test.concurrent('the case of the question is random, and so is its id', async () => {
  const seen = { ids: new Set<number>(), names: new Set<string>() }
  const { resolver } = await dnsWith({
    '*': {
      forge: (reply, query) => {
        seen.ids.add(query.id!)
        seen.names.add(query.questions![0]!.name)
        return [{ ...reply, flags: 0x80 }]
      },
    },
  })
  for (let i = 0; i < 8; i++) await resolver.a(`a-rather-long-name-${i}.test`)
  expect(seen.ids.size).toBeGreaterThan(6)
  expect([...seen.names].filter((name) => name === name.toLowerCase())).toEqual([])
})

test.concurrent('a server that only refers us elsewhere is a failure', async () => {
  const { resolver } = await dnsWith({ '*': { forge: (reply) => [{ ...reply, flags: 0 }] } })
  expect(await resolver.mx('example.test')).toMatchObject({
    kind: 'failure',
    cause: expect.stringContaining('no recursion'),
  })
})

test.concurrent.each([
  '',
  '.',
  'a..b',
  `${'a'.repeat(64)}.test`,
  `${'abcdefg.'.repeat(33)}test`,
  'a b.test',
  'ü.test',
  'a\0.test',
  'a/b.test',
])('%j cannot be a name: it does not exist, and no server is asked', async (name) => {
  const { dns, resolver } = await dnsWith({})
  expect(await resolver.mx(name)).toEqual({ kind: 'nxdomain' })
  expect(dns.queries).toEqual([])
})

test.concurrent('an answer with any of its bytes changed gives addresses or none, and never throws', async () => {
  const { dns, options } = await dnsWith({})
  const resolver = createResolver({ servers: [dns.address], ...options, queryTimeoutMs: 20 })
  const change = fc.tuple(fc.nat(), fc.nat(255))
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
      dns.zone['*'] = { raw: (query) => spoil(query, changes) }
      const answer = await resolver.a('example.test')
      expect(answer.kind === 'records' && !answer.records.every((address) => isIPv4(address))).toBe(false)
    }),
    { numRuns: 150 },
  )
})

function spoil(query: Buffer, changes: [number, number][]): Buffer {
  const { id, questions } = decode(query)
  const answers = [cname('example.test', 'b.test', 0), a('b.test', '192.0.2.1', 0), mx('b.test', 1, 'c.test', 0)]
  const reply = encode({ type: 'response', id, flags: RECURSION_AVAILABLE, questions, answers })
  const behindQuestion = encode({ type: 'response', id, questions }).length
  for (const [at, byte] of changes) reply[behindQuestion + (at % (reply.length - behindQuestion))] = byte
  return reply
}

test.concurrent.each(['192.0.2.53', '[2001:db8::53]', '2001:db8::53', '192.0.2.53:5353', '[2001:db8::53]:5353'])(
  '%s is a DNS server',
  (server) => {
    expect(() => createResolver({ servers: [server.replace(/^\[([^\]]+)\]$/, '$1')] })).not.toThrow()
  },
)

test.concurrent.each(['dns.test', '192.0.2.53:', '192.0.2.53:a', '192.0.2.53:0', '192.0.2.53:65536', ':53', ''])(
  '%j is not a DNS server',
  (server) => {
    expect(() => createResolver({ servers: [server] })).toThrow(/not a DNS server/)
  },
)

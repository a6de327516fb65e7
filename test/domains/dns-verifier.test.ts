import { createPublicKey } from 'node:crypto'
import { createRequire } from 'node:module'
import { type Answer, decode, encode, RECURSION_AVAILABLE } from 'dns-packet'
import fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { faultOf } from '../../server/domains/dkim-record.ts'
import { recordsOf, stringsOf } from '../../server/domains/records.ts'
import { cname, type DnsAct, type DnsServerForTests, mx, txt } from '../harness/dns.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { domainOf, HOSTS, newEd25519, publicKeyOf, RSA, startVerifier, type Zone, zoneOf } from './verifying.ts'

vi.setConfig({ maxConcurrency: 16 })

// mailauth verifies signatures with this function; its types leave it out.
const { getPublicKey } = createRequire(import.meta.url)('mailauth/lib/tools.js')

const open: DnsServerForTests[] = []
afterAll(async () => {
  for (const dns of open.splice(0)) await dns.close()
})

const NAME = 'shop.example.com'
const domain = domainOf(NAME)
const DKIM_HOST = `${RSA[0].selector}._domainkey.${NAME}`
const DKIM = `DKIM:${RSA[0].selector}`
const DKIM_VALUE = shownFor('DKIM')

function shownFor(kind: string): string {
  return recordsOf(domain, HOSTS).find(({ record }) => record === kind)!.value
}

/** The findings for a domain that published everything, except for these changes. */
async function check(changes: Zone, of = domain, hosts = HOSTS) {
  const { dns, check } = await startVerifier({ ...zoneOf(of, hosts), ...changes }, { hosts })
  open.push(dns)
  return check(of)
}

const statuses = (findings: Awaited<ReturnType<typeof check>>) =>
  Object.fromEntries(Object.entries(findings).map(([name, { status }]) => [name, status]))

test.concurrent('a domain that published the records it was shown is verified, record by record', async () => {
  expect(await check({})).toEqual({
    SPF: { status: 'verified', observed: ['v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all'] },
    RETURN_PATH: { status: 'verified', observed: ['10 mail.operator.example'] },
    [DKIM]: { status: 'verified', observed: [DKIM_VALUE] },
    DMARC: { status: 'verified', observed: ['v=DMARC1; p=none'] },
  })
})

test.concurrent('a missing record is reported with its place', async () => {
  const nothing = await check({ '*': 'nxdomain', ...without(zoneOf(domain)) })
  expect(statuses(nothing)).toEqual({ SPF: 'failed', RETURN_PATH: 'failed', [DKIM]: 'failed', DMARC: 'failed' })
  expect(nothing[DKIM]!.error).toBe(`There is no TXT record at ${DKIM_HOST}. Add it.`)
  expect(nothing.RETURN_PATH!.error).toBe(`There is no MX record at rp.${NAME}. Add it.`)
})

const without = (zone: Zone): Zone => Object.fromEntries(Object.keys(zone).map((name) => [name, 'nxdomain']))

test.concurrent.each(['servfail', 'refused'] as const)(
  'a DNS that answers with %s leaves every record pending with the reason, and never counts as missing',
  async (fault) => {
    const findings = await check({ ...Object.fromEntries(Object.keys(zoneOf(domain)).map((name) => [name, fault])) })
    for (const { status, error } of Object.values(findings)) {
      expect([status, error]).toEqual(['pending', expect.stringMatching(/did not answer \(.+\)/)])
    }
  },
)

test.concurrent('a resolver that fails for one record leaves that one unknown, and the others are judged', async () => {
  expect(statuses(await check({ [`TXT ${DKIM_HOST}`]: 'servfail' }))).toEqual({
    SPF: 'verified',
    RETURN_PATH: 'verified',
    [DKIM]: 'pending',
    DMARC: 'verified',
  })
})

const p = (key: Buffer) => `p=${key.toString('base64')}`
const ours = p(Buffer.from(RSA[0].publicKey))
const halves = [DKIM_VALUE.slice(0, 200), DKIM_VALUE.slice(200)] as const

test.concurrent.each([
  ['tags in other words: spaces, order, more tags', ` v = DKIM1;\tn=a note ; ${ours};`],
  ['no v and no k, which mean DKIM1 and rsa', ours],
  ['whitespace inside the key', `v=DKIM1; k=rsa; ${ours.replace(/(.{60})/g, '$1 \t')}`],
  ['h, s and t that allow this use', `v=DKIM1; h=sha1:sha256; s=email:other; t=s; ${ours}`],
  ['strings cut anywhere', DKIM_VALUE.match(/.{1,7}/g)!],
])('a DKIM record counts with %s', async (_, value) => {
  const findings = await check({
    [`TXT ${DKIM_HOST}`]: [txt(DKIM_HOST, typeof value === 'string' ? stringsOf(value) : value)],
  })
  expect(findings[DKIM]).toMatchObject({ status: 'verified' })
})

test.concurrent.each([
  ['a key of another length', `v=DKIM1; k=rsa; ${p(publicKeyOf(1024))}`, 'another key, of 1024 bits'],
  ['another key', `v=DKIM1; k=rsa; ${p(publicKeyOf(2048))}`, 'another key, of 2048 bits'],
  ['a revoked key', 'v=DKIM1; p=', 'revoked'],
  ['a key that is cut off', `v=DKIM1; k=rsa; ${ours.slice(0, 255)}`, 'cut off after 253 of its 392 characters'],
  ['a key with a letter that is wrong', DKIM_VALUE.replace('MIIBIjAN', 'MIIBIjAM'), 'cannot be read'],
  ['another kind of key', `v=DKIM1; k=ed25519; ${ours}`, 'it has to say k=rsa'],
  ['another version', `v=DKIM2; ${ours}`, 'has to begin with v=DKIM1'],
  ['the version at the end', `${ours}; v=DKIM1`, 'has to begin with v=DKIM1'],
  ['another hash', `v=DKIM1; h=sha1; ${ours}`, 'does not allow sha256'],
  ['another service', `v=DKIM1; s=tlsrpt; ${ours}`, 'not for email'],
  ['the testing flag', `v=DKIM1; t=y:s; ${ours}`, 'only being tested'],
  ['quotation marks pasted in', `"${halves[0]}" "${halves[1]}"`, 'quotation marks or backslashes'],
  ['semicolons escaped', DKIM_VALUE.replaceAll(';', '\\;'), 'quotation marks or backslashes'],
  ['a tag twice', `v=DKIM1; ${ours}; ${ours}`, 'no DKIM key'],
  ['something else altogether', 'google-site-verification=abc', 'no DKIM key'],
])('a DKIM record with %s is refused with an explanation', async (_, value, words) => {
  const findings = await check({ [`TXT ${DKIM_HOST}`]: [txt(DKIM_HOST, stringsOf(value))] })
  expect(findings[DKIM]).toEqual({
    status: 'failed',
    observed: [value.length > 512 ? `${value.slice(0, 509)}...` : value],
    error: expect.stringContaining(words),
  })
})

test.concurrent('two confused keys are named', async () => {
  const two = domainOf(NAME, [...RSA])
  const [first, second] = RSA.map(({ selector }) => `${selector}._domainkey.${NAME}`) as [string, string]
  const zone = zoneOf(two)
  const swapped = { [`TXT ${first}`]: [txt(first, stringOf(zone, second))] }
  const findings = await check(swapped, two)
  expect(findings[DKIM]!.error).toBe(`This is the key that belongs to ${second}. Were the two confused?`)
  expect(findings[`DKIM:${RSA[1].selector}`]!.status).toBe('verified')
})

function stringOf(zone: Zone, host: string): string[] {
  const [record] = zone[`TXT ${host}`] as { data: string[] }[]
  return record!.data
}

test.concurrent('a value split over several TXT records, in any order, is distinguished from several values', async () => {
  const records = halves.map((half) => txt(DKIM_HOST, half))
  for (const split of [records, records.toReversed()]) {
    const findings = await check({ [`TXT ${DKIM_HOST}`]: split })
    expect(findings[DKIM]).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('split over 2 TXT records'),
    })
  }
  const twice = [txt(DKIM_HOST, stringsOf(DKIM_VALUE)), txt(DKIM_HOST, 'v=DKIM1; p=')]
  expect((await check({ [`TXT ${DKIM_HOST}`]: twice }))[DKIM]!.error).toContain('There are 2 TXT records')
})

test('a value that counts as our key is also our key to mailauth, however it was changed', async () => {
  const record = recordsOf(domain, HOSTS).find(({ record }) => record === 'DKIM')!
  const pieces = fc.constantFrom(
    ' ',
    '\t',
    ';',
    '=',
    'v=DKIM1;',
    'k=rsa;',
    'k=ed25519;',
    't=y;',
    't=s;',
    's=email;',
    'h=sha1;',
    'p=',
    'A',
    '"',
  )
  const edits = fc.array(fc.tuple(fc.nat(DKIM_VALUE.length), fc.nat(3), fc.option(pieces, { nil: '' })), {
    maxLength: 4,
  })
  let counted = 0
  await fc.assert(
    fc.asyncProperty(edits, async (changes) => {
      let value = DKIM_VALUE
      for (const [at, removed, added] of changes) value = value.slice(0, at) + added + value.slice(at + removed)
      if (faultOf(value, record)) return
      counted++
      const { publicKey } = await getPublicKey('DKIM', DKIM_HOST, 1024, async () => [[value]], { strict: true })
      expect(createPublicKey(publicKey).export({ format: 'der', type: 'spki' })).toEqual(RSA[0].publicKey)
    }),
    { numRuns: 2_000 },
  )
  expect(counted).toBeGreaterThan(50)
})

test.concurrent('an Ed25519 key is published without its SPKI', async () => {
  const both = domainOf(NAME, [RSA[0], newEd25519('ed')])
  expect(statuses(await check({}, both))).toMatchObject({ [DKIM]: 'verified', 'DKIM:ed': 'verified' })
})

const RP = `rp.${NAME}`

test.concurrent.each([
  ['other mechanisms that allow the same', ['v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 ~all'], {}],
  ['an include', ['v=spf1 include:_spf.operator.example -all'], {}],
  ['a redirect', ['v=spf1 redirect=_spf.operator.example'], {}],
  ['capital letters', ['V=SPF1 IP4:192.0.2.25 IP6:2001:DB8::25 -ALL'], {}],
  ['other TXT records beside it', ['v=spf1 include:_spf.operator.example -all', 'a-token=1', 'v=spf10 nonsense'], {}],
])('SPF counts with %s', async (_, values) => {
  const include = {
    'TXT _spf.operator.example': [txt('_spf.operator.example', 'v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all')],
  }
  const findings = await check({ ...include, [`TXT ${RP}`]: values.map((value) => txt(RP, value)) })
  expect(findings.SPF).toMatchObject({ status: 'verified' })
})

const MANY = Array.from({ length: 11 }, (_, i) => `include:_${i}.a.net`).join(' ')

test.concurrent.each<[string, string[], string, string]>([
  ['one address only', ['v=spf1 ip4:192.0.2.25 -all'], 'failed', 'does not let 2001:db8::25 send'],
  ['no address', ['v=spf1 -all'], 'failed', 'does not let 192.0.2.25, 2001:db8::25 send'],
  ['softfail for us', ['v=spf1 ip4:198.51.100.1 ~all'], 'failed', 'does not let 192.0.2.25, 2001:db8::25 send'],
  ['two records', ['v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all', 'v=spf1 -all'], 'failed', 'There are 2 SPF records'],
  ['no record of it', ['google-site-verification=abc'], 'failed', 'There is no SPF record among'],
  ['a mechanism that does not exist', ['v=spf1 ipv4:192.0.2.25 -all'], 'failed', 'cannot be evaluated'],
  ['strings that run together', ['v=spf1 ip4:192.0.2.25ip6:2001:db8::25 -all'], 'failed', 'cannot be evaluated'],
  ['more than ten look-ups', [`v=spf1 ${MANY} -all`], 'failed', 'Too many DNS requests'],
  ['an include of nothing', ['v=spf1 include:nowhere.example.net -all'], 'failed', 'cannot be evaluated'],
  ['an include of itself', [`v=spf1 include:${RP} -all`], 'failed', 'cannot be evaluated'],
  ['an include whose servers fail', ['v=spf1 include:_fails.example.net -all'], 'pending', 'did not answer'],
])('SPF with %s is explained', async (_, values, status, words) => {
  const includes: Zone = { 'TXT _fails.example.net': 'servfail' }
  for (let i = 0; i < 11; i++) includes[`TXT _${i}.a.net`] = [txt(`_${i}.a.net`, 'v=spf1 ip4:198.51.100.1')]
  const findings = await check({ ...includes, [`TXT ${RP}`]: values.map((value) => txt(RP, value)) })
  expect(findings.SPF).toMatchObject({ status, error: expect.stringContaining(words) })
})

test.concurrent('mechanisms that need other records ask the same DNS', async () => {
  const value = 'v=spf1 a:out.example.net mx:in.example.net -all'
  const findings = await check({
    [`TXT ${RP}`]: [txt(RP, value)],
    'A out.example.net': [{ type: 'A', name: 'out.example.net', data: '192.0.2.25' }],
    'MX in.example.net': [mx('in.example.net', 5, 'mx.example.net')],
    'AAAA mx.example.net': [{ type: 'AAAA', name: 'mx.example.net', data: '2001:db8::25' }],
    'A mx.example.net': 'nodata',
  })
  expect(findings.SPF).toEqual({ status: 'verified', observed: [value] })
})

test.concurrent.each<[string, DnsAct, string, string | undefined]>([
  [
    'our host in capitals, beside a worse one',
    [mx(RP, 5, 'MAIL.Operator.example'), mx(RP, 20, 'b.example.net')],
    'verified',
    undefined,
  ],
  ['another host', [mx(RP, 10, 'mx.example.net')], 'failed', 'Bounces go to mx.example.net. Replace it'],
  [
    'a better one beside ours',
    [mx(RP, 10, 'mail.operator.example'), mx(RP, 5, 'b.example.net')],
    'failed',
    'Bounces go to b.example.net too, or first',
  ],
  [
    'an equal one beside ours',
    [mx(RP, 10, 'mail.operator.example'), mx(RP, 10, 'b.example.net')],
    'failed',
    'Bounces go to b.example.net too',
  ],
  ['a null MX', [mx(RP, 0, '.')], 'failed', 'Replace it'],
  ['no MX record', 'nodata', 'failed', `There is no MX record at ${RP}. Add it.`],
])('a return path with %s', async (_, act, status, words) => {
  const { RETURN_PATH } = await check({ [`MX ${RP}`]: act })
  expect(RETURN_PATH!.status).toBe(status)
  if (words) expect(RETURN_PATH!.error).toContain(words)
})

const OPERATOR = { ...HOSTS, returnPathHost: 'rp.operator.example' }
const operatorZone: Zone = {
  'MX rp.operator.example': [mx('rp.operator.example', 10, 'mail.operator.example')],
  'TXT rp.operator.example': [txt('rp.operator.example', 'v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all')],
}

test.concurrent('where the operator has a zone, one CNAME replaces SPF and MX', async () => {
  expect(await check(operatorZone, domain, OPERATOR)).toMatchObject({
    RETURN_PATH: { status: 'verified', observed: ['CNAME rp.operator.example', '10 mail.operator.example'] },
  })
  const longer = { [`MX ${RP}`]: [cname(RP, 'a.example.net')], [`TXT ${RP}`]: [cname(RP, 'a.example.net')] }
  const middle = {
    'MX a.example.net': [cname('a.example.net', 'rp.operator.example')],
    'TXT a.example.net': [cname('a.example.net', 'rp.operator.example')],
  }
  expect(statuses(await check({ ...operatorZone, ...longer, ...middle }, domain, OPERATOR))).toMatchObject({
    RETURN_PATH: 'verified',
  })
})

test.concurrent('records with the effect of the alias count', async () => {
  const same: Zone = {
    [`MX ${RP}`]: [mx(RP, 1, 'mail.operator.example')],
    [`TXT ${RP}`]: [txt(RP, 'v=spf1 include:rp.operator.example -all')],
  }
  expect(statuses(await check({ ...operatorZone, ...same }, domain, OPERATOR))).toMatchObject({
    RETURN_PATH: 'verified',
  })
})

test.concurrent.each<[string, Zone, string, string]>([
  [
    'leads elsewhere',
    { [`MX ${RP}`]: [mx(RP, 10, 'mx.example.net')] },
    'failed',
    'does not lead to rp.operator.example',
  ],
  ['is missing', { [`MX ${RP}`]: 'nxdomain' }, 'failed', `There is no CNAME record at ${RP}`],
  ['leads to a host without MX', { 'MX rp.operator.example': 'nodata' }, 'failed', 'for the operator of the service'],
  [
    'leads to SPF that is wrong',
    { 'TXT rp.operator.example': [txt('rp.operator.example', 'v=spf1 -all')] },
    'failed',
    'does not let',
  ],
  ['leads to a DNS that fails', { 'MX rp.operator.example': 'servfail' }, 'pending', 'did not answer'],
])('an alias that %s is explained', async (_, changes, status, words) => {
  const { RETURN_PATH } = await check({ ...operatorZone, ...changes }, domain, OPERATOR)
  expect(RETURN_PATH).toMatchObject({ status, error: expect.stringContaining(words) })
})

const D = `_dmarc.${NAME}`

test.concurrent.each([
  ['any policy', { [`TXT ${D}`]: [txt(D, 'v=DMARC1;p=reject;rua=mailto:d@example.com')] }],
  ['spaces and other tags', { [`TXT ${D}`]: [txt(D, 'v = DMARC1 ; p=Quarantine ; adkim=s; aspf=s; pct=50')] }],
  ['a token beside it', { [`TXT ${D}`]: [txt(D, 'a-token=1'), txt(D, 'v=DMARC1; p=none')] }],
  [
    'one that is inherited',
    {
      [`TXT ${D}`]: 'nxdomain',
      'TXT _dmarc.example.com': [txt('_dmarc.example.com', 'v=DMARC1; p=reject; sp=quarantine')],
    } as Zone,
  ],
  [
    'an alias',
    { [`TXT ${D}`]: [cname(D, 'd.example.net')], 'TXT d.example.net': [txt('d.example.net', 'v=DMARC1; p=none')] },
  ],
])('a DMARC policy counts: %s', async (_, changes) => {
  expect((await check(changes as Zone)).DMARC).toMatchObject({ status: 'verified' })
})

test.concurrent.each<[string, DnsAct, string]>([
  ['several', [txt(D, 'v=DMARC1; p=none'), txt(D, 'v=DMARC1; p=reject')], 'There are 2 DMARC records'],
  ['none', 'nxdomain', `There is no TXT record at ${D}`],
  ['one without a policy', [txt(D, 'v=DMARC1; sp=none')], 'no valid policy'],
  ['one with a policy that is none', [txt(D, 'v=DMARC1; p=nothing')], 'no valid policy'],
  ['something else', [txt(D, 'p=none; v=DMARC1')], 'is no DMARC policy'],
])('for DMARC, %s is explained', async (_, act, words) => {
  const { DMARC } = await check({ [`TXT ${D}`]: act })
  expect(DMARC).toMatchObject({ status: 'failed', error: expect.stringContaining(words) })
})

test.concurrent('a name that ends with the domain twice is found and reported', async () => {
  const zone = zoneOf(domain)
  const doubled: Zone = {}
  for (const [name, act] of Object.entries(zone)) {
    const twice = `${name.split(' ')[1]}.${NAME}`
    doubled[`${name.split(' ')[0]} ${twice}`] = (act as { name: string }[]).map((record) => ({
      ...record,
      name: twice,
    })) as DnsAct
  }
  const findings = await check({ ...doubled, ...without(zone) })
  expect(Object.values(findings).map(({ error }) => error!.replace(/:.*Enter/, ': Enter'))).toEqual([
    `The record stands at ${RP}.${NAME}: Enter the name as rp.`,
    `The record stands at ${RP}.${NAME}: Enter the name as rp.`,
    `The record stands at ${DKIM_HOST}.${NAME}: Enter the name as ${RSA[0].selector}._domainkey.`,
    `The record stands at ${D}.${NAME}: Enter the name as _dmarc.`,
  ])
})

test.concurrent('a wildcard that answers every name does not count as a record of ours', async () => {
  const { dns, check } = await startVerifier({})
  open.push(dns)
  const wildcard = (name: string) => ({ type: 'TXT', name, data: 'v=spf1 include:other.example -all' }) as const
  dns.zone['*'] = { forge: (reply, query) => [{ ...reply, answers: [wildcard(query.questions![0]!.name)] }] }
  const findings = await check(domain)
  expect(Object.values(findings).map(({ status }) => status)).toEqual(['failed', 'failed', 'failed', 'failed'])
  expect(findings[DKIM]!.error).toContain('no DKIM key')
  expect(findings.DMARC!.error).toContain('no DMARC policy')
})

test.concurrent('aliases that never end are reported, and the check ends', async () => {
  const { SPF } = await check({
    [`TXT ${RP}`]: [cname(RP, 'a.example.net')],
    'TXT a.example.net': [cname('a.example.net', RP)],
  })
  expect(SPF).toEqual({
    status: 'failed',
    observed: ['CNAME a.example.net'],
    error: `The aliases (CNAME) that begin at ${RP} never end. Remove them.`,
  })
})

test.concurrent('a thousand TXT strings are read, and few of them are shown', async () => {
  const junk = Array.from({ length: 1_000 }, (_, i) => txt(RP, `token=${i}`))
  const { SPF } = await check({ [`TXT ${RP}`]: { overTcp: [...junk, txt(RP, shownFor('SPF'))] } })
  expect(SPF).toEqual({ status: 'verified', observed: [shownFor('SPF')] })
  const none = await check({ [`TXT ${RP}`]: { overTcp: junk } })
  expect(none.SPF!.observed).toHaveLength(10)
  const long = await check({
    [`TXT ${RP}`]: {
      overTcp: [
        txt(
          RP,
          Array.from({ length: 200 }, () => 'x'.repeat(255)),
        ),
      ],
    },
  })
  expect(long.SPF!.observed.map((value) => value.length)).toEqual([512])
})

test.concurrent('unreadable octets are shown as in a zone file', async () => {
  const { DMARC } = await check({
    [`TXT ${D}`]: [{ type: 'TXT', name: D, data: Buffer.from('v=\0\n\xff\x1b[31m', 'latin1') }],
  })
  expect(DMARC!.observed).toEqual(['v=\\000\\010\\255\\027[31m'])
})

test.concurrent('a name of the greatest length is checked, and longer ones are not asked for', async () => {
  const label = 'a'.repeat(60)
  const long = `${label}.${label}.${label}.${'b'.repeat(50)}.example.com`
  const findings = await check({}, domainOf(long.slice(-253 + 3)))
  expect(findings.SPF!.status).toBe('verified')
  expect(findings[DKIM]).toMatchObject({ status: 'failed', error: expect.stringContaining('There is no TXT record') })
})

test.concurrent('a record whose value the operator did not configure stays pending, with the reason', async () => {
  const unknown = { ...HOSTS, sourceAddresses: [], bounceHost: undefined }
  const findings = await check({}, domain, unknown)
  expect(findings.SPF).toMatchObject({ status: 'pending', error: expect.stringContaining('SMTP_SOURCE_ADDRESSES') })
  expect(findings.RETURN_PATH).toMatchObject({ status: 'pending', error: expect.stringContaining('SMTP_HELO_NAME') })
})

test.concurrent.each<[string, Zone]>([
  ['lets everybody send', { 'TXT rp.operator.example': [txt('rp.operator.example', 'v=spf1 +all')] }],
  ['lets nobody send', { 'TXT rp.operator.example': [txt('rp.operator.example', 'v=spf1 -all')] }],
])(
  'without a source address to check, the return path is not verified, also where the return path host %s',
  async (_, zone) => {
    const unknown = { ...OPERATOR, sourceAddresses: [] }
    const { RETURN_PATH } = await check({ ...operatorZone, ...zone }, domain, unknown)
    expect(RETURN_PATH).toMatchObject({ status: 'pending', error: expect.stringContaining('SMTP_SOURCE_ADDRESSES') })
  },
)

test.concurrent('answers with any of their bytes changed never throw, and verify no missing record', async () => {
  const zone = zoneOf(domain)
  const { dns, check } = await startVerifier({}, { queryMs: 20, totalMs: 200 })
  open.push(dns)
  const edits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(edits, async (changes) => {
      dns.zone['*'] = { raw: (query) => spoil(query, zone, changes) }
      const { [DKIM]: found } = await check(domain)
      if (found!.status === 'verified') expect(found!.observed).toEqual([expect.stringContaining(ours)])
    }),
    { numRuns: 60 },
  )
})

function spoil(query: Buffer, zone: Zone, changes: [number, number][]): Buffer {
  const { id, questions } = decode(query)
  const { type, name } = questions![0]!
  const answers = (zone[`${type} ${name.toLowerCase()}`] ?? []) as Answer[]
  const reply = encode({ type: 'response', id, flags: RECURSION_AVAILABLE, questions, answers })
  const behindQuestion = encode({ type: 'response', id, questions }).length
  const rest = reply.length - behindQuestion
  for (const [at, byte] of changes) if (rest > 0) reply[behindQuestion + (at % rest)] = byte
  return reply
}

test.concurrent('a check ends in time, however silent DNS is', async () => {
  const { dns, check } = await startVerifier({ '*': 'silence' }, { queryMs: 200, totalMs: 500 })
  open.push(dns)
  const watch = stopwatch()
  expect(new Set(Object.values(statuses(await check(domain))))).toEqual(new Set(['pending']))
  // A check has 500 ms in all here. Its queries one after the other would take longer.
  expect(watch.ms()).toBeLessThan(1_000)
})

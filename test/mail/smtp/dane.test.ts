import { createHash, X509Certificate } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type Answer, AUTHENTIC_DATA, type Packet } from 'dns-packet'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import type { MxLookup } from '../../../mail/smtp/attempt.ts'
import { daneKey } from '../../../mail/smtp/dane.ts'
import { publicKeyInfo } from '../../../mail/smtp/der.ts'
import { AUTHORITY, CERTIFICATE, EXPIRED_CERTIFICATE, SECOND_CERTIFICATE } from '../../harness/certificates.ts'
import { a, cname, type DnsAct, mx, startDns } from '../../harness/dns.ts'
import { engineWith, exchangerWith, OFFER, outcomeOf, send } from './deliver.ts'

// Other files of the same process trust the authority of these certificates.
beforeAll(() => setDefaultCACertificates(getCACertificates('bundled')))

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

test('hosts without TLSA records add nothing to the key of a site, and unknown ones do', () => {
  const none = { name: 'mx1.test', finding: { kind: 'none' } } as const
  expect(daneKey([none, { ...none, name: 'mx2.test' }])).toBe('')
  expect(daneKey([none, { name: 'mx2.test', finding: { kind: 'unknown', cause: 'SERVFAIL', isOurs: false } }])).toMatch(
    /^ by DANE \w{32}$/,
  )
})

const D = 'example.test'

/** An answer that the resolver has validated. */
const secure = (answers: Answer[]): DnsAct => ({
  forge: (reply: Packet) => [{ ...reply, flags: (reply.flags ?? 0) | AUTHENTIC_DATA, answers }],
})

type Tlsa = [usage: number, selector: number, matching: number, octets: Buffer]
const der = (pem: string) => new X509Certificate(pem).raw
const octetsOf = (pem: string, selector: number) => (selector === 0 ? der(pem) : publicKeyInfo(der(pem)))
const digest = (octets: Buffer, matching: number) =>
  matching === 0
    ? octets
    : createHash(matching === 1 ? 'sha256' : 'sha512')
        .update(octets)
        .digest()
const record = (usage: number, selector: number, matching: number, pem: string): Tlsa => [
  usage,
  selector,
  matching,
  digest(octetsOf(pem, selector), matching),
]
const tlsa = (name: string, ...records: Tlsa[]): Answer[] =>
  records.map(([usage, selector, matchingType, certificate]) => ({
    type: 'TLSA',
    name,
    ttl: 60,
    data: { usage, selector, matchingType, certificate },
  })) as Answer[]

interface World {
  /** The TLSA records of mx1. */
  records?: Tlsa[] | DnsAct
  certificate?: { cert: string; key: string } | 'clear'
  zone?: (port: number) => Record<string, DnsAct>
  /** The exchangers that an enforced MTA-STS policy of the domain permits. */
  permitted?: string[]
}

/** example.test with two exchangers; mx1 may have TLSA records, mx2 has none. All answers are secure. */
async function world({ records = [], certificate = CERTIFICATE, zone, permitted }: World = {}) {
  const mx1 = await (certificate === 'clear' ? exchangerWith({}) : exchangerWith({ ehlo: OFFER }, certificate))
  const mx2 = await exchangerWith({}, { port: mx1.port }, '127.0.0.2')
  const name = `_${mx1.port}._tcp.mx1.${D}`
  const dns = await startDns({
    [`MX ${D}`]: secure([mx(D, 10, `mx1.${D}`), mx(D, 20, `mx2.${D}`)]),
    [`A mx1.${D}`]: secure([a(`mx1.${D}`, '127.0.0.1')]),
    [`AAAA mx1.${D}`]: 'nodata',
    [`A mx2.${D}`]: secure([a(`mx2.${D}`, '127.0.0.2')]),
    [`AAAA mx2.${D}`]: 'nodata',
    [`TLSA ${name}`]: Array.isArray(records) ? secure(tlsa(name, ...(records as Tlsa[]))) : records,
    [`TLSA _${mx1.port}._tcp.mx2.${D}`]: 'nodata',
    ...zone?.(mx1.port),
  })
  ends.push(dns.close)
  const resolver = createResolver({ servers: [dns.address], dnssec: true })
  const policyOf = async () => permitted && { mode: 'enforce' as const, mx: permitted, maxAgeS: 60 }
  const engine = engineWith({ resolver, tlsa: resolver.tlsa, smtpPort: mx1.port, policyOf })
  return { engine, dns, mx1, mx2, name }
}

async function siteIn({ engine }: Pick<Awaited<ReturnType<typeof world>>, 'engine'>, domain = D) {
  const found = await engine.lookUp(domain)
  expect(found.kind).toBe('site')
  return (found as Extract<MxLookup, { kind: 'site' }>).site
}

async function sendIn(setup: World) {
  const place = await world(setup)
  return { ...place, attempt: await send(place.engine, await siteIn(place)) }
}

const EVERY_FORM = [0, 1].flatMap((selector) => [0, 1, 2].map((matching) => [selector, matching]))

test.each(EVERY_FORM)(
  'DANE-EE with selector %i and matching type %i proves the certificate',
  async (selector, matching) => {
    const { attempt } = await sendIn({ records: [record(3, selector!, matching!, CERTIFICATE.cert)] })
    expect(attempt).toMatchObject({
      outcome: { kind: 'delivered' },
      mx: `mx1.${D}`,
      tls: { verified: true, by: 'dane' },
    })
  },
)

test('DANE-EE ignores the names and the times of the certificate', async () => {
  for (const certificate of [EXPIRED_CERTIFICATE, SECOND_CERTIFICATE]) {
    const { attempt } = await sendIn({ certificate, records: [record(3, 1, 1, certificate.cert)] })
    expect(attempt.tls).toMatchObject({ verified: true, by: 'dane' })
  }
})

const CHAIN = { ...CERTIFICATE, cert: CERTIFICATE.cert + AUTHORITY }

test.each(EVERY_FORM)(
  'DANE-TA with selector %i and matching type %i proves what it issued',
  async (selector, matching) => {
    const { attempt } = await sendIn({ certificate: CHAIN, records: [record(2, selector!, matching!, AUTHORITY)] })
    expect(attempt).toMatchObject({
      outcome: { kind: 'delivered' },
      mx: `mx1.${D}`,
      tls: { verified: true, by: 'dane' },
    })
  },
)

test.each([0, 1])(
  'a trust anchor that its record holds whole may be missing in what the server sends (%i)',
  async (selector) => {
    const { attempt } = await sendIn({ records: [record(2, selector, 0, AUTHORITY)] })
    expect(attempt.tls).toMatchObject({ verified: true, by: 'dane' })
  },
)

test.each<[string, World, RegExp]>([
  ['another certificate', { records: [record(3, 1, 1, SECOND_CERTIFICATE.cert)] }, /no TLSA record matches the cert/],
  ['another issuer', { certificate: CHAIN, records: [record(2, 0, 1, EXPIRED_CERTIFICATE.cert)] }, /matches an issuer/],
  ['an issuer that the server does not send', { records: [record(2, 0, 1, AUTHORITY)] }, /matches an issuer/],
  ['the certificate as its own issuer', { certificate: CHAIN, records: [record(2, 0, 1, CERTIFICATE.cert)] }, /issuer/],
  ['no STARTTLS', { certificate: 'clear', records: [record(3, 1, 1, CERTIFICATE.cert)] }, /STARTTLS is not offered/],
  [
    'a time that is over',
    {
      certificate: { ...EXPIRED_CERTIFICATE, cert: EXPIRED_CERTIFICATE.cert + AUTHORITY },
      records: [record(2, 1, 1, AUTHORITY)],
    },
    /CERT_HAS_EXPIRED/,
  ],
])('usable records refuse %s, the next host is tried, and alone it is a policy block', async (_, setup, detail) => {
  const { attempt } = await sendIn(setup)
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: `mx2.${D}` })
  expect(attempt.tried).toMatchObject([
    { mx: `mx1.${D}`, phase: 'starttls', detail: expect.stringMatching(/^DANE demands TLS with a certificate/) },
  ])
  expect(attempt.tried![0]!.detail).toMatch(detail)
  const alone = await sendIn({ ...setup, zone: () => ({ [`MX ${D}`]: secure([mx(D, 10, `mx1.${D}`)]) }) })
  expect(outcomeOf(alone.attempt)).toBe('policy_block')
  expect(alone.mx1.messages).toEqual([])
})

test('a trust anchor proves only a certificate for the host or for the domain that the mail is for', async () => {
  const zone = (port: number) => ({
    [`MX ${D}`]: secure([mx(D, 10, `mx9.${D}`)]),
    [`MX mx1.${D}`]: secure([mx(`mx1.${D}`, 10, `mx9.${D}`)]),
    [`A mx9.${D}`]: secure([a(`mx9.${D}`, '127.0.0.1')]),
    [`AAAA mx9.${D}`]: 'nodata' as DnsAct,
    [`TLSA _${port}._tcp.mx9.${D}`]: secure(tlsa(`_${port}._tcp.mx9.${D}`, record(2, 1, 1, AUTHORITY))),
  })
  const place = await world({ certificate: CHAIN, zone })
  const attempt = await send(place.engine, await siteIn(place))
  expect(outcomeOf(attempt)).toBe('policy_block')
  expect(attempt.detail).toMatch(/the certificate is for none of mx9\.example\.test, example\.test$/)
  const forName = await siteIn(place, `mx1.${D}`)
  expect((await send(place.engine, forName)).tls).toMatchObject({ verified: true, by: 'dane' })
})

test('of two records one is enough, so that a certificate can be replaced', async () => {
  const records = [record(3, 1, 1, SECOND_CERTIFICATE.cert), record(3, 1, 1, CERTIFICATE.cert)]
  expect((await sendIn({ records })).attempt.tls).toMatchObject({ by: 'dane' })
})

test('of two digests of one kind only the stronger counts', async () => {
  const records = [record(3, 1, 1, CERTIFICATE.cert), record(3, 1, 2, SECOND_CERTIFICATE.cert)]
  expect((await sendIn({ records })).attempt.mx).toBe(`mx2.${D}`)
})

const UNUSABLE: [string, Tlsa][] = [
  ['PKIX-TA', record(0, 0, 1, AUTHORITY)],
  ['PKIX-EE', record(1, 0, 1, CERTIFICATE.cert)],
  ['an unknown usage', record(4, 0, 1, CERTIFICATE.cert)],
  ['an unknown selector', [3, 2, 1, Buffer.alloc(32)]],
  ['an unknown matching type', [3, 1, 3, Buffer.alloc(32)]],
  ['a digest that is too short', [3, 1, 1, Buffer.alloc(31)]],
  ['octets that are no certificate', [3, 0, 0, Buffer.from('no')]],
]

test.each(UNUSABLE)(
  'a record that cannot be used (%s) makes TLS mandatory, with any certificate',
  async (_, unusable) => {
    const { attempt } = await sendIn({ certificate: EXPIRED_CERTIFICATE, records: [unusable] })
    expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: `mx1.${D}`, tls: { verified: false } })
    const clear = await sendIn({ certificate: 'clear', records: [unusable] })
    expect(clear.attempt.tried).toMatchObject([{ detail: 'DANE demands TLS: STARTTLS is not offered' }])
    expect(clear.mx1.messages).toEqual([])
  },
)

test('an answer that is not secure is no demand, and TLSA is asked only of a secure address', async () => {
  const records = { insecure: tlsa('x', record(3, 1, 1, SECOND_CERTIFICATE.cert)) }
  const insecure: [string, (port: number) => Record<string, DnsAct>, number][] = [
    ['MX', () => ({ [`MX ${D}`]: [mx(D, 10, `mx1.${D}`)] }), 0],
    ['A', () => ({ [`A mx1.${D}`]: [a(`mx1.${D}`, '127.0.0.1')] }), 0],
    [
      'TLSA',
      (port) => ({
        [`TLSA _${port}._tcp.mx1.${D}`]: records.insecure.map(
          (each) => ({ ...each, name: `_${port}._tcp.mx1.${D}` }) as Answer,
        ),
      }),
      1,
    ],
  ]
  for (const [type, zone, queries] of insecure) {
    const { attempt, dns, name } = await sendIn({ records: [record(3, 1, 1, SECOND_CERTIFICATE.cert)], zone })
    expect(attempt, type).toMatchObject({ outcome: { kind: 'delivered' }, mx: `mx1.${D}`, tls: { verified: false } })
    expect(dns.count(`TLSA ${name}`), type).toBe(queries)
  }
})

test('DANE goes before MTA-STS: records that prove a host do so although the policy does not name it', async () => {
  const proved = await sendIn({ records: [record(3, 1, 1, CERTIFICATE.cert)], permitted: [`mx2.${D}`] })
  expect(proved.attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: `mx1.${D}`, tls: { by: 'dane' } })
})

test('DANE goes before MTA-STS: a certificate that the policy would accept proves nothing against wrong records', async () => {
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, AUTHORITY])
  try {
    const permitted = [`mx1.${D}`]
    const alone = await sendIn({ permitted })
    expect(alone.attempt).toMatchObject({ outcome: { kind: 'delivered' }, tls: { verified: true, by: 'mta-sts' } })
    const { attempt, mx1 } = await sendIn({ permitted, records: [record(3, 1, 1, SECOND_CERTIFICATE.cert)] })
    expect(outcomeOf(attempt)).toBe('policy_block')
    expect(attempt.detail).toMatch(/^DANE demands TLS .*no TLSA record matches/)
    expect(mx1.messages).toEqual([])
  } finally {
    setDefaultCACertificates(trusted)
  }
})

test('a host without usable records answers to the MTA-STS policy', async () => {
  const permitted = [`mx1.${D}`, `mx2.${D}`]
  for (const records of [[record(1, 0, 1, CERTIFICATE.cert)], []]) {
    const { attempt } = await sendIn({ permitted, records })
    expect(outcomeOf(attempt)).toBe('policy_block')
    expect([attempt, ...attempt.tried!].map(({ detail }) => detail)).toContainEqual(
      expect.stringMatching(/^MTA-STS demands TLS with a valid certificate: /),
    )
  }
})

test('SERVFAIL for TLSA skips the host, and alone it is a temporary failure', async () => {
  const { attempt, mx1, name } = await sendIn({ records: 'servfail' })
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: `mx2.${D}` })
  expect(attempt.tried).toEqual([{ mx: `mx1.${D}`, phase: 'dns', detail: `DNS TLSA ${name}: SERVFAIL` }])
  expect(mx1.sessions).toEqual([])
  const alone = await sendIn({ records: 'servfail', zone: () => ({ [`MX ${D}`]: secure([mx(D, 10, `mx1.${D}`)]) }) })
  expect(alone.attempt).toMatchObject({
    phase: 'dns',
    mx: `mx1.${D}`,
    outcome: { kind: 'bounced', reason: 'temporary_failure', retryable: true },
  })
})

test('an exchanger that is an alias is looked up under the name that it leads to, then under its own', async () => {
  const real = 'real.example.test'
  const alias = secure([cname(`mx1.${D}`, real), a(real, '127.0.0.1')])
  const at = (host: string) => (port: number) => ({
    [`A mx1.${D}`]: alias,
    [`TLSA _${port}._tcp.mx1.${D}`]: 'nodata' as DnsAct,
    [`TLSA _${port}._tcp.${host}`]: secure(tlsa(`_${port}._tcp.${host}`, record(3, 1, 1, CERTIFICATE.cert))),
  })
  for (const host of [real, `mx1.${D}`]) {
    const { attempt, dns, mx1 } = await sendIn({ zone: at(host) })
    expect(attempt.tls).toMatchObject({ verified: true, by: 'dane' })
    expect(dns.count(`TLSA _${mx1.port}._tcp.${real}`)).toBe(1)
    expect(dns.count(`TLSA _${mx1.port}._tcp.mx1.${D}`)).toBe(host === real ? 0 : 1)
  }
})

test('a session that proved nothing is never reused once records demand a proof', async () => {
  const place = await world({
    certificate: EXPIRED_CERTIFICATE,
    zone: (port) => ({ [`TLSA _${port}._tcp.mx1.${D}`]: 'nodata' }),
  })
  expect((await send(place.engine, await siteIn(place))).mx).toBe(`mx1.${D}`)
  const resolver = createResolver({ servers: [place.dns.address], dnssec: true })
  place.dns.zone[`TLSA ${place.name}`] = secure(tlsa(place.name, record(3, 1, 1, CERTIFICATE.cert)))
  const fresh = await siteIn({ engine: engineWith({ resolver, tlsa: resolver.tlsa, smtpPort: place.mx1.port }) })
  const attempt = await send(place.engine, fresh)
  expect(attempt).toMatchObject({ mx: `mx2.${D}`, tried: [{ mx: `mx1.${D}` }] })
})

test('without DNSSEC the bit of the resolver means nothing', async () => {
  const { dns, mx1 } = await world({ records: [record(3, 1, 1, SECOND_CERTIFICATE.cert)] })
  const resolver = createResolver({ servers: [dns.address] })
  const engine = engineWith({ resolver, tlsa: resolver.tlsa, smtpPort: mx1.port })
  const attempt = await send(engine, await siteIn({ engine }))
  expect(attempt).toMatchObject({ mx: `mx1.${D}`, tls: { verified: false } })
})

import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import type { MxLookup } from '../../../mail/smtp/attempt.ts'
import { createStsPolicies } from '../../../mail/smtp/sts-policies.ts'
import { createGuard } from '../../../net/guard.ts'
import { createHttpsGet } from '../../../net/https-get.ts'
import { createLookup } from '../../../net/lookup.ts'
import {
  AUTHORITY,
  CERTIFICATE,
  EXPIRED_CERTIFICATE,
  POLICY_AUTHORITY,
  POLICY_HOST_CERTIFICATE,
  SECOND_CERTIFICATE,
} from '../../harness/certificates.ts'
import { a, mx, startDns, txt } from '../../harness/dns.ts'
import { startReceiver } from '../../harness/receiver.ts'
import { engineWith, exchangerWith, OFFER, send } from './deliver.ts'

beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), AUTHORITY, POLICY_AUTHORITY]))

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

const D = 'example.test'

interface World {
  mode?: string
  permitted?: string
  /** The certificates of mx1 and mx2; `clear`: no STARTTLS. */
  first?: object | 'clear'
  second?: object | 'clear'
}

/** example.test with DNS, the host of its policy and its two exchangers, all of them real and on loopback. */
async function world({
  mode = 'enforce',
  permitted = '*.example.test',
  first = CERTIFICATE,
  second = SECOND_CERTIFICATE,
}: World = {}) {
  const exchanger = (tls: object | 'clear', more: object, host: string) =>
    tls === 'clear' ? exchangerWith({}, more, host) : exchangerWith({ ehlo: OFFER }, { ...tls, ...more }, host)
  const mx1 = await exchanger(first, {}, '127.0.0.1')
  const mx2 = await exchanger(second, { port: mx1.port }, '127.0.0.2')
  const host = await startReceiver({ tls: POLICY_HOST_CERTIFICATE })
  const body = `version: STSv1\nmode: ${mode}\nmx: ${permitted}\nmax_age: 604800\n`
  host.script = { headers: { 'content-type': 'text/plain' }, body }
  const dns = await startDns({
    [`MX ${D}`]: [mx(D, 10, `mx1.${D}`), mx(D, 20, `mx2.${D}`)],
    [`A mx1.${D}`]: [a(`mx1.${D}`, '127.0.0.1')],
    [`AAAA mx1.${D}`]: 'nodata',
    [`A mx2.${D}`]: [a(`mx2.${D}`, '127.0.0.2')],
    [`AAAA mx2.${D}`]: 'nodata',
    [`TXT _mta-sts.${D}`]: [txt(`_mta-sts.${D}`, 'v=STSv1; id=1;')],
    [`A mta-sts.${D}`]: [a(`mta-sts.${D}`, '127.0.0.1')],
    [`AAAA mta-sts.${D}`]: 'nodata',
  })
  ends.push(dns.close, host.close)
  const clock = { ms: 0 }
  const now = () => clock.ms
  const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 1_500, now })
  const mayDial = createGuard({ allowSubnets: ['127.0.0.0/8'] })
  const httpsGet = createHttpsGet({ lookup: createLookup(resolver), mayDial, port: host.port })
  const policyOf = createStsPolicies({ resolver, httpsGet, now })
  /** An engine without connections that shares the stored policies. */
  const newEngine = () => engineWith({ resolver, mayDial, smtpPort: mx1.port, policyOf })
  const engine = newEngine()
  const deliver = async (over = engine) => send(over, siteOf(await over.lookUp(D)))
  return { mx1, mx2, host, dns, clock, newEngine, deliver }
}

function siteOf(lookup: MxLookup) {
  if (lookup.kind !== 'site') throw new Error(JSON.stringify(lookup))
  return lookup.site
}

test('mail for a domain with an enforced policy goes to the exchanger it names, over verified TLS', async () => {
  const { deliver, mx1 } = await world()
  expect(await deliver()).toMatchObject({
    outcome: { kind: 'delivered' },
    mx: 'mx1.example.test',
    tls: { version: 'TLSv1.3', verified: true },
  })
  expect(mx1.messages.map(({ tls }) => tls)).toEqual([true])
})

test('a second send to the domain asks no DNS server and no policy host, and opens no connection', async () => {
  const { deliver, dns, host, mx1 } = await world()
  await deliver()
  const queries = [...dns.queries]
  await deliver()
  expect(dns.queries).toEqual(queries)
  expect([host.connections, mx1.sessions.length, mx1.messages.length]).toEqual([1, 1, 2])
})

test.each<[string, World['first']]>([
  ['no TLS', 'clear'],
  ['a certificate that has expired', EXPIRED_CERTIFICATE],
])('an exchanger with %s is passed over for one that meets the policy', async (_, first) => {
  const { deliver, mx1 } = await world({ first })
  expect(await deliver()).toMatchObject({
    outcome: { kind: 'delivered' },
    mx: 'mx2.example.test',
    tls: { verified: true },
  })
  expect(mx1.messages).toEqual([])
})

test('when no exchanger meets the policy, nothing is sent', async () => {
  const { deliver, mx1, mx2 } = await world({ first: EXPIRED_CERTIFICATE, second: 'clear' })
  expect(await deliver()).toMatchObject({
    outcome: { kind: 'bounced', reason: 'policy_block' },
    phase: 'starttls',
    mx: 'mx2.example.test',
    tls: null,
    detail: 'MTA-STS demands TLS with a valid certificate: STARTTLS is not offered',
  })
  expect([...mx1.messages, ...mx2.messages]).toEqual([])
})

test('an exchanger that the policy does not name is not even dialled', async () => {
  const { deliver, mx1 } = await world({ permitted: 'mx2.example.test' })
  expect(await deliver()).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx2.example.test' })
  expect(mx1.sessions).toEqual([])
})

test('a policy in mode testing stops nothing', async () => {
  const { deliver } = await world({ mode: 'testing', permitted: 'other.test', first: EXPIRED_CERTIFICATE })
  expect(await deliver()).toMatchObject({
    outcome: { kind: 'delivered' },
    mx: 'mx1.example.test',
    tls: { verified: false },
  })
})

test('an attacker that cuts the domain off from its policy, and its exchangers from TLS, does not get its mail', async () => {
  const { deliver, newEngine, dns, host, clock, mx1, mx2 } = await world()
  await deliver()
  dns.zone[`TXT _mta-sts.${D}`] = 'nxdomain'
  host.script = { status: 404 }
  for (const exchanger of [mx1, mx2]) exchanger.script.ehlo = '250-mx.test\r\n250 PIPELINING'
  clock.ms += 86_400_000
  expect(await deliver(newEngine())).toMatchObject({
    outcome: { kind: 'bounced', reason: 'policy_block' },
    tls: null,
  })
  clock.ms += 6 * 86_400_000
  expect(await deliver(newEngine())).toMatchObject({ outcome: { kind: 'delivered' }, tls: null })
  expect(mx1.messages.map(({ tls }) => tls)).toEqual([true, false])
})

test('a domain whose policy cannot be fetched is treated as one without a policy', async () => {
  const { deliver, host } = await world({ first: 'clear' })
  host.script = { status: 301, headers: { location: '/elsewhere' } }
  expect(await deliver()).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx1.example.test', tls: null })
})

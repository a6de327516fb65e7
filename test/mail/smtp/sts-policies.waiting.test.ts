import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import type { Policy } from '../../../mail/smtp/mta-sts.ts'
import { createStsPolicies, type StsPoliciesOptions } from '../../../mail/smtp/sts-policies.ts'
import { createGuard } from '../../../net/guard.ts'
import { createHttpsGet } from '../../../net/https-get.ts'
import { createLookup } from '../../../net/lookup.ts'
import { POLICY_AUTHORITY, POLICY_HOST_CERTIFICATE } from '../../harness/certificates.ts'
import { a, type DnsAct, startDns, txt } from '../../harness/dns.ts'
import { eventually } from '../../harness/eventually.ts'
import { type ScriptedResponse, startReceiver } from '../../harness/receiver.ts'
import { stopwatch } from '../../harness/stopwatch.ts'
import { quietFor } from '../../harness/waits.ts'

beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), POLICY_AUTHORITY]))

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

const DAY_MS = 86_400_000
const FIVE_MINUTES_MS = 300_000
const D = 'example.test'
const RECORD = `TXT _mta-sts.${D}`
const TEXT = { headers: { 'content-type': 'text/plain' } }

function announced(id: string): DnsAct {
  return [txt(`_mta-sts.${D}`, `v=STSv1; id=${id};`, 300)]
}

function policy({ mode = 'enforce', mx = 'mx1.example.test', maxAgeS = 7 * 86_400 } = {}) {
  return { ...TEXT, body: `version: STSv1\r\nmode: ${mode}\r\nmx: ${mx}\r\nmax_age: ${maxAgeS}\r\n` }
}

/** Real DNS and a real host for the policy of example.test; time passes only when the test says so. */
async function world() {
  const dns = await startDns({
    [RECORD]: announced('1'),
    [`A mta-sts.${D}`]: [a(`mta-sts.${D}`, '127.0.0.1', 3_600)],
    [`AAAA mta-sts.${D}`]: 'nodata',
  })
  const host = await startReceiver({ tls: POLICY_HOST_CERTIFICATE })
  host.script = policy()
  ends.push(dns.close, host.close)
  const clock = { ms: 0 }
  const now = () => clock.ms
  const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 1_000, now })
  const mayDial = createGuard({ allowSubnets: ['127.0.0.1/32'] })
  const httpsGet = createHttpsGet({ lookup: createLookup(resolver), mayDial, port: host.port })
  const troubles: string[] = []
  const onTrouble = (domain: string, cause: string) => troubles.push(`${domain}: ${cause}`)
  const policyOf = createStsPolicies({ resolver, httpsGet, onTrouble, now })
  return { dns, host, clock, troubles, policyOf }
}

test('an announced policy is fetched from its host over HTTPS', async () => {
  const { host, policyOf, troubles } = await world()
  expect(await policyOf(D)).toEqual({ mode: 'enforce', mx: ['mx1.example.test'], maxAgeS: 604_800 })
  expect(host.requests).toMatchObject([{ method: 'GET', path: '/.well-known/mta-sts.txt' }])
  expect(troubles).toEqual([])
})

test('a domain without a policy costs one DNS question, and a second look-up asks none', async () => {
  const { dns, host, policyOf } = await world()
  expect([await policyOf('plain.test'), await policyOf('plain.test')]).toEqual([undefined, undefined])
  expect(dns.queries).toEqual(['TXT _mta-sts.plain.test'])
  expect(host.connections).toBe(0)
})

test('a second look-up of a domain with a policy asks nothing and fetches nothing', async () => {
  const { dns, host, policyOf } = await world()
  const first = await policyOf(D)
  const { queries } = dns
  const asked = [...queries]
  expect(await policyOf(D)).toEqual(first)
  expect(queries).toEqual(asked)
  expect(host.requests).toHaveLength(1)
})

test('many concurrent look-ups fetch once', async () => {
  const { dns, host, policyOf } = await world()
  const policies = await Promise.all(Array.from({ length: 50 }, () => policyOf(D)))
  expect(new Set(policies.map((policy) => (policy as Policy).mode))).toEqual(new Set(['enforce']))
  expect([host.requests.length, dns.count(RECORD)]).toEqual([1, 1])
})

test('policy hosts that hang leave slots for other accounts, and a look-up that gets no slot does not count as no policy', async () => {
  const hung: string[] = []
  const httpsGet: StsPoliciesOptions['httpsGet'] = async (host, _, signal) => {
    if (host.includes('good')) return { kind: 'got', text: policy().body }
    hung.push(host)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { kind: 'failed', cause: 'it hung' }
  }
  const resolver = { txt: async () => ({ kind: 'records' as const, records: ['v=STSv1; id=1;'], ttlS: 60 }) }
  const policyOf = createStsPolicies({ resolver, httpsGet })
  const untilMs = performance.now() + 300
  const all = Array.from({ length: 150 }, (_, i) => policyOf(`hangs-${i}.test`, { accountId: 'a', untilMs }))
  expect(await policyOf('good.test', { accountId: 'b', untilMs })).toMatchObject({ mode: 'enforce' })
  expect(await Promise.all(all.slice(80))).toEqual(Array(70).fill('no_slot'))
  expect(hung).toHaveLength(80)
  expect(await Promise.all(all.slice(0, 80))).toEqual(Array(80).fill(undefined))
})

test('a new id in the TXT record makes us fetch the policy again, the same id does not', async () => {
  const { dns, host, clock, policyOf } = await world()
  await policyOf(D)
  clock.ms += 400_000
  await policyOf(D)
  expect([host.requests.length, dns.count(RECORD)]).toEqual([1, 2])
  dns.zone[RECORD] = announced('2')
  host.script = policy({ mode: 'testing' })
  clock.ms += 400_000
  expect(await policyOf(D)).toMatchObject({ mode: 'testing' })
  expect(host.requests).toHaveLength(2)
})

test.each<[string, DnsAct]>([
  ['is missing', 'nxdomain'],
  ['is broken', [txt(`_mta-sts.${D}`, 'v=STSv1; what')]],
  ['is there twice', [txt(`_mta-sts.${D}`, 'v=STSv1; id=1'), txt(`_mta-sts.${D}`, 'v=STSv1; id=2')]],
  ['cannot be asked for', 'servfail'],
  ['is not answered', 'silence'],
])('a policy is valid for its max_age although its TXT record %s, and no longer', async (_, act) => {
  const { dns, host, clock, policyOf } = await world()
  await policyOf(D)
  dns.zone[RECORD] = act
  host.script = { status: 404 }
  clock.ms += 3 * DAY_MS
  expect(await policyOf(D)).toMatchObject({ mode: 'enforce' })
  clock.ms += 4 * DAY_MS - 1
  expect(await policyOf(D)).toMatchObject({ mode: 'enforce' })
  clock.ms += FIVE_MINUTES_MS
  expect(await policyOf(D)).toBeUndefined()
})

test('a policy stays valid although the next one cannot be fetched', async () => {
  const { dns, host, clock, policyOf, troubles } = await world()
  await policyOf(D)
  dns.zone[RECORD] = announced('2')
  host.script = { status: 500 }
  clock.ms += 400_000
  expect(await policyOf(D)).toMatchObject({ mode: 'enforce' })
  expect(troubles).toEqual([expect.stringMatching(/^example\.test: .*status 500$/)])
})

test('a policy in use is renewed after a day, in the background of the send, whatever the TXT record says', async () => {
  const { dns, host, clock, policyOf } = await world()
  await policyOf(D)
  dns.zone[RECORD] = 'nodata'
  clock.ms += DAY_MS
  host.script = { ...policy({ mx: '*.example.test' }), delayMs: 50 }
  expect(await policyOf(D)).toMatchObject({ mx: ['mx1.example.test'] })
  await eventually(async () => expect(await policyOf(D)).toMatchObject({ mx: ['*.example.test'] }))
  clock.ms += 7 * DAY_MS - 1
  expect(await policyOf(D)).toMatchObject({ mode: 'enforce' })
})

test.each<[string, ScriptedResponse, string]>([
  ['a host without one', { status: 404 }, 'status 404'],
  ['a text that is not one', policy({ mode: 'whatever' }), 'no policy'],
])('%s counts as no policy, is reported once, and is not fetched for five minutes', async (_, answer, cause) => {
  const { host, clock, policyOf, troubles } = await world()
  host.script = answer
  expect([await policyOf(D), await policyOf(D)]).toEqual([undefined, undefined])
  expect(host.requests).toHaveLength(1)
  expect(troubles).toEqual([expect.stringContaining(cause)])
  host.script = policy()
  clock.ms += FIVE_MINUTES_MS
  expect(await policyOf(D)).toMatchObject({ mode: 'enforce' })
})

test('a TXT record that cannot be looked up counts as no policy, and is not asked for again for five minutes', async () => {
  const { dns, clock, policyOf, troubles } = await world()
  dns.zone[RECORD] = 'servfail'
  await policyOf(D)
  const asked = dns.count(RECORD)
  expect([await policyOf(D), dns.count(RECORD), troubles]).toEqual([undefined, asked, []])
  dns.zone[RECORD] = announced('1')
  clock.ms += FIVE_MINUTES_MS
  expect(await policyOf(D)).toMatchObject({ mode: 'enforce' })
})

test('a host that hangs delays a send by three seconds at most, and once', async () => {
  const { host, policyOf } = await world()
  host.script = { fault: 'hang' }
  const watch = stopwatch()
  expect(await policyOf(D)).toBeUndefined()
  // The promised three seconds, and half a second for the rest.
  expect(watch.ms()).toBeLessThan(3_500)
  await policyOf(D)
  // The second look waits for nothing.
  expect(watch.ms()).toBeLessThan(3_500)
})

test('a policy of mode none is fetched and kept, and its end is not reported', async () => {
  const { dns, host, clock, policyOf, troubles } = await world()
  await policyOf(D)
  dns.zone[RECORD] = announced('2')
  host.script = policy({ mode: 'none', maxAgeS: 86_400 })
  clock.ms += 400_000
  expect(await policyOf(D)).toMatchObject({ mode: 'none' })
  host.script = { status: 404 }
  clock.ms += DAY_MS
  expect(await policyOf(D)).toBeUndefined()
  await quietFor(50)
  expect(troubles).toEqual([])
})

test('a policy with a max_age of 0 is valid for the send that fetched it', async () => {
  const { host, policyOf } = await world()
  host.script = policy({ maxAgeS: 0 })
  expect(await policyOf(D)).toMatchObject({ mode: 'enforce' })
  host.script = { status: 404 }
  expect(await policyOf(D)).toBeUndefined()
})

test('the policy of a parent domain does not apply to its children', async () => {
  const { dns, policyOf } = await world()
  expect(await policyOf(`mail.${D}`)).toBeUndefined()
  expect(dns.queries).toEqual([`TXT _mta-sts.mail.${D}`])
})

test('the cache is bounded, and failures never push a policy out of it', async () => {
  const fetched: string[] = []
  const txtOf = async () => ({ kind: 'records' as const, records: ['v=STSv1; id=1'], ttlS: 60 })
  const httpsGet = async (host: string) => {
    fetched.push(host)
    const { body } = policy()
    return host.startsWith('mta-sts.bad')
      ? { kind: 'failed' as const, cause: 'no' }
      : { kind: 'got' as const, text: body }
  }
  const policyOf = createStsPolicies({ resolver: { txt: txtOf }, httpsGet, max: 3 })
  const look = async (...domains: string[]) => {
    fetched.length = 0
    for (const domain of domains) await policyOf(domain)
    return fetched.map((host) => host.slice('mta-sts.'.length))
  }
  expect(await look('a', 'b', 'c', 'bad1', 'bad2', 'bad3', 'bad4')).toHaveLength(7)
  expect(await look('a', 'b', 'c', 'bad4', 'bad3', 'bad2')).toEqual([])
  expect(await look('bad1', 'd')).toEqual(['bad1', 'd'])
  expect(await look('b', 'c', 'd', 'a')).toEqual(['a'])
})

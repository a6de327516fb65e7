import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { Answer } from '../../../mail/dns/resolver.ts'
import { createStsPolicies } from '../../../mail/smtp/sts-policies.ts'
import { AUTHORITY, CERTIFICATE, POLICY_AUTHORITY, SECOND_CERTIFICATE } from '../../harness/certificates.ts'
import { engineWith, exchangerWith, OFFER, outcomeOf, send } from './deliver.ts'

// A policy refuses for good only when DNS has just said that it is the newest one.

beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), AUTHORITY, POLICY_AUTHORITY]))

const PERMITTED = 'mx1.example.test'
const OTHER = 'mx2.example.test'
const ADDRESSES: Record<string, Record<string, string>> = {
  [PERMITTED]: { proven: '127.0.0.41', clear: '127.0.0.43', dead: '127.0.0.44' },
  [OTHER]: { proven: '127.0.0.42', clear: '127.0.0.43', dead: '127.0.0.44' },
}

const HOSTS = ['proven', 'clear', 'dead', 'without address', 'absent'] as const
const worlds = fc.record({
  /** What the stored policy is. */
  stored: fc.constantFrom('fresh', 'renewal due', 'none'),
  txt: fc.constantFrom('same id', 'new id', 'missing', 'failure', 'no slot'),
  fetch: fc.constantFrom('same policy', 'policy of both', 'mode none', 'failed'),
  /** Another look came a moment before. */
  isSecond: fc.boolean(),
  permitted: fc.constantFrom(...HOSTS),
  other: fc.constantFrom(...HOSTS),
})
type World = typeof worlds extends fc.Arbitrary<infer T> ? T : never

/** The policy that decides, and whether DNS has just said that it is the newest one. */
function decidingPolicy({ stored, txt, fetch, isSecond }: World) {
  const isAnnounced = txt === 'new id' || (txt === 'same id' && stored === 'none')
  const isRenewed = stored === 'renewal due' && isSecond && (txt === 'same id' || txt === 'missing')
  if (fetch !== 'failed' && (isAnnounced || isRenewed)) return { policy: fetch, isNewest: true }
  if (stored === 'none') return { policy: txt === 'no slot' ? 'unknown' : 'mode none', isNewest: true }
  return { policy: 'same policy', isNewest: !isAnnounced && !isRenewed && (txt === 'same id' || txt === 'missing') }
}

function expected(world: World): string {
  const { policy, isNewest } = decidingPolicy(world)
  if (policy === 'unknown') return 'our_fault'
  const { permitted, other } = world
  const hasAddress = (host: string) => host !== 'absent' && host !== 'without address'
  const isPermitted = policy !== 'same policy'
  const used = [permitted, ...(isPermitted ? [other] : [])].filter(hasAddress)
  const takes = policy === 'mode none' ? ['proven', 'clear'] : ['proven']
  if (used.some((host) => takes.includes(host))) return 'delivered'
  const isRefusing = used.includes('clear')
  const isExcluding = !isPermitted && hasAddress(other)
  if (!isNewest && (isRefusing || isExcluding)) return 'our_fault'
  if (isRefusing) return 'policy_block'
  if (used.includes('dead')) return 'connection_timeout'
  return isNewest && policy === 'same policy' && permitted === 'absent' ? 'no_permitted_mx' : 'no_mx_record'
}

test('a policy whose update was announced, or could not be asked about, refuses nothing for good', async () => {
  const mx1 = await exchangerWith({ ehlo: OFFER }, CERTIFICATE, ADDRESSES[PERMITTED]!.proven)
  const { port } = mx1
  await exchangerWith({ ehlo: OFFER }, { ...SECOND_CERTIFICATE, port }, ADDRESSES[OTHER]!.proven)
  await exchangerWith({}, { port }, ADDRESSES[OTHER]!.clear)
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { stored, txt, fetch, isSecond, permitted, other } = world
      fc.pre(permitted !== 'absent' || other !== 'absent')
      const states: Record<string, string> = { [PERMITTED]: permitted, [OTHER]: other }
      const exchanges = Object.keys(states).filter((name) => states[name] !== 'absent')
      let ms = 0
      let record: Answer<string> = { kind: 'records', records: ['v=STSv1; id=1;'], ttlS: 0 }
      let text: string | undefined = policyText('enforce', PERMITTED)
      const resolver = {
        mx: async () => recordsOf(exchanges.map((name, i) => ({ name, preference: i }))),
        a: async (name: string) => recordsOf([ADDRESSES[name]?.[states[name]!] ?? []].flat()),
        aaaa: async () => recordsOf<string>([]),
        txt: async () => record,
      }
      const httpsGet = async () =>
        text === undefined ? { kind: 'failed' as const, cause: 'ENETUNREACH' } : { kind: 'got' as const, text }
      const policyOf = createStsPolicies({ resolver, httpsGet, now: () => ms })
      if (stored !== 'none') await policyOf('example.test')
      if (stored === 'renewal due') ms += 90_000_000
      record = TXT[txt]!
      text = TEXTS[fetch]
      if (isSecond) await policyOf('example.test')
      const engine = engineWith({ resolver, policyOf, smtpPort: port })
      const found = await engine.lookUp('example.test')
      const attempt = found.kind === 'site' ? await send(engine, found.site) : undefined
      engine.close()
      const outcome = attempt ? outcomeOf(attempt) : found.kind
      if (outcome === 'delivered' && decidingPolicy(world).policy !== 'mode none')
        expect(attempt?.tls).toMatchObject({ verified: true, by: 'mta-sts' })
      seen.add(outcome)
      expect(outcome).toBe(expected(world))
    }),
    { numRuns: 400 },
  )
  expect([...seen].sort()).toEqual([
    'connection_timeout',
    'delivered',
    'no_mx_record',
    'no_permitted_mx',
    'our_fault',
    'policy_block',
  ])
})

const recordsOf = <T>(records: T[]): Answer<T> =>
  records.length > 0 ? { kind: 'records', records, ttlS: 60 } : { kind: 'nodata' }

const policyText = (mode: string, ...mx: string[]) =>
  ['version: STSv1', `mode: ${mode}`, ...mx.map((name) => `mx: ${name}`), 'max_age: 604800', ''].join('\r\n')

const TXT: Record<string, Answer<string>> = {
  'same id': { kind: 'records', records: ['v=STSv1; id=1;'], ttlS: 0 },
  'new id': { kind: 'records', records: ['v=STSv1; id=2;'], ttlS: 0 },
  missing: { kind: 'nodata' },
  failure: { kind: 'failure', cause: 'DNS TXT: SERVFAIL', isServfail: true },
  'no slot': { kind: 'failure', cause: 'DNS TXT: no slot', noSlot: true },
}

const TEXTS: Record<string, string | undefined> = {
  'same policy': policyText('enforce', PERMITTED),
  'policy of both': policyText('enforce', PERMITTED, OTHER),
  'mode none': policyText('none'),
  failed: undefined,
}

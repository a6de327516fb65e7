import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Answer } from '../../../mail/dns/resolver.ts'
import type { Failure } from '../../../mail/smtp/failure.ts'
import { RecipientQueue } from '../../../mail/smtp/recipient-queue.ts'
import { engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

// What could not be looked up was not tried, and then silence elsewhere proves nothing.

const WELL = '127.0.0.31'
const REFUSES = '127.0.0.32'
const DEAD = '127.0.0.33'

interface HostWorld {
  /** Where its addresses lead. */
  server: typeof WELL | typeof REFUSES | typeof DEAD
  a: 'records' | 'failure' | 'servfail' | 'nodata'
  aaaa: 'records' | 'failure' | 'servfail' | 'nodata'
  tlsa: 'nodata' | 'servfail' | 'failure'
}

const families = fc.constantFrom('records', 'records', 'failure', 'servfail', 'nodata')
const hostWorld: fc.Arbitrary<HostWorld> = fc.record({
  server: fc.constantFrom(DEAD, DEAD, DEAD, DEAD, WELL, REFUSES),
  a: families,
  aaaa: families,
  tlsa: fc.constantFrom('nodata', 'nodata', 'nodata', 'nodata', 'servfail', 'failure'),
})

const FAILURE = { kind: 'failure' as const, cause: 'DNS: timeout' }

function answerOf<T>(kind: 'records' | 'failure' | 'nodata' | 'servfail', record: T): Answer<T> {
  if (kind === 'servfail') return { ...FAILURE, cause: 'DNS: SERVFAIL', isServfail: true }
  if (kind === 'failure') return FAILURE
  return kind === 'records' ? { kind, records: [record], ttlS: 60, secure: true } : { kind, secure: true }
}

const hasAddress = ({ a, aaaa }: HostWorld) => a === 'records' || aaaa === 'records'
const isUsed = (host: HostWorld) => hasAddress(host) && host.tlsa === 'nodata'
const isUnknown = (host: HostWorld) =>
  host.a === 'failure' ||
  host.aaaa === 'failure' ||
  (hasAddress(host) ? host.tlsa === 'failure' : host.a === 'servfail' || host.aaaa === 'servfail')

/** The outcomes that are true of such hosts. */
function expected(hosts: HostWorld[]): string[] {
  const told = hosts.find((host) => isUsed(host) && host.server !== DEAD)
  if (told) return [told.server === WELL ? 'delivered' : 'mailbox_does_not_exist']
  if (hosts.some(isUnknown)) return ['our_fault']
  if (hosts.some(isUsed)) return ['connection_timeout']
  return [hosts.some(hasAddress) ? 'temporary_failure' : 'no_mx_record']
}

test('where no host replied, a look-up that failed is a fault of ours, whatever is known of the other hosts', async () => {
  const well = await exchangerWith({}, {}, WELL)
  await exchangerWith({ rcpt: '550 5.1.1 User unknown' }, { port: well.port }, REFUSES)
  const seen = new Set<string>()
  const hostsOf = fc.array(hostWorld, { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(hostsOf, async (hosts) => {
      const hostNamed = (name: string) => hosts[Number(name.split('.').find((label) => /^\d$/.test(label)))]!
      const exchanges = hosts.map((_, i) => ({ name: `${i}.example.test`, preference: i }))
      const engine = engineWith({
        resolver: {
          mx: async () => ({ kind: 'records', records: exchanges, ttlS: 60, secure: true }),
          a: async (name) => answerOf(hostNamed(name).a, hostNamed(name).server),
          aaaa: async (name) => answerOf(hostNamed(name).aaaa, hostNamed(name).server),
          txt: async () => ({ kind: 'nodata' }),
        },
        tlsa: async (name) => answerOf(hostNamed(name).tlsa, { usage: 3, selector: 1, matching: 1, data: '' }),
        smtpPort: well.port,
      })
      const found = await engine.lookUp('example.test')
      const attempt = found.kind === 'site' ? await send(engine, found.site) : undefined
      engine.close()
      const outcome = attempt ? outcomeOf(attempt) : found.kind
      for (const { mx } of attempt?.tried?.filter(({ phase }) => phase === 'dns') ?? [])
        expect(isUsed(hostNamed(mx))).toBe(false)
      seen.add(outcome)
      expect(expected(hosts)).toContain(outcome)
    }),
    { numRuns: 400 },
  )
  expect(seen.size).toBe(6)
})

test('an address that this machine cannot reach is no silence, while the other family could not be looked up', async () => {
  for (const kind of ['failure', 'nodata'] as const) {
    const engine = engineWith({
      resolver: {
        mx: async () => answerOf('records', { name: 'mx1.example.test', preference: 0 }),
        a: async () => answerOf(kind, ''),
        aaaa: async () => answerOf('records', '::1'),
        txt: async () => ({ kind: 'nodata' }),
      },
      sourceAddresses: ['127.0.0.1'],
      routes: new Map([['routed.test', { host: 'mx1.example.test', port: 25 }]]),
    })
    for (const domain of ['example.test', 'routed.test']) {
      const found = await engine.lookUp(domain)
      if (found.kind !== 'site') throw new Error(found.kind)
      expect(outcomeOf(await send(engine, found.site))).toBe(kind === 'failure' ? 'our_fault' : 'connection_timeout')
    }
  }
})

test('a host that was skipped hides no fault of ours', async () => {
  const exchanger = await exchangerWith({ greeting: 'stall' })
  for (const isOurs of [true, false]) {
    const site = { ...siteOf(exchanger), skipped: [{ mx: 'mx9.example.test', detail: 'DNS TLSA', isOurs }] }
    const closed = engineWith()
    closed.close()
    const leaves = AbortSignal.timeout(100)
    const full = { ...site, limits: { connections: 0, messages: 1, perMinute: 60 } }
    const attempts = await Promise.all([
      send(engineWith(), site, { signal: AbortSignal.abort('left') }),
      send(engineWith(), site, { signal: leaves }),
      send(engineWith(), full, { budgetMs: 1_000 }),
      send(closed, site),
    ])
    expect(attempts.map(outcomeOf)).toEqual(Array(4).fill('our_fault'))
  }
})

/** Each end of a try, with its weight. */
const WEIGHTS: Record<Failure['how'], number> = {
  ...{ refused: 4 },
  ...{ local: 3, left: 3, unreachable: 3 },
  ...{ insecure: 2 },
  ...{ closed: 1, timeout: 1, garbage: 1, slow: 1, skipped: 1 },
  ...{ other_family: 0 },
}

test('a reply decides before a fault of ours, that before a lack of TLS, and that before silence, in whatever order', () => {
  const how = fc.constantFrom(...(Object.entries(WEIGHTS) as [Failure['how'], number][]))
  const tries = fc.array(how, { minLength: 1, maxLength: 5 })
  const skips = fc.array(fc.boolean(), { maxLength: 2 })
  fc.assert(
    fc.property(tries, skips, (tries, skips) => {
      const skipped = skips.map((isOurs) => ({ mx: 'skipped', detail: 'DNS', isOurs }))
      const queue = new RecipientQueue([{ index: 0, address: 'user@example.test' }], {
        startedAtMs: 0,
        own: { ms: () => 0 },
        skipped,
      })
      for (const [i, [how]] of tries.entries()) {
        const reply = how === 'refused' ? { code: 550, text: 'no' } : undefined
        queue.fail(queue.waiting, { kind: 'failure', phase: 'connect', how, reply }, { mx: `${i}`, tls: null })
      }
      const most = Math.max(...tries.map(([, weight]) => weight), skips.length === 0 ? 0 : skips.includes(true) ? 3 : 1)
      for (const { attempt } of queue.close('no time was left', false)) {
        expect(attempt.outcome.kind === 'our_fault').toBe(most === 3)
        if (most !== 3 && attempt.mx !== 'skipped') expect(tries[Number(attempt.mx)]![1]).toBe(most)
      }
    }),
  )
})

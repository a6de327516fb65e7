import { Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, expect, test, vi } from 'vitest'
import type { ShowingServer } from '../../../mail/smtp/shown.ts'
import { demandTls } from '../../../mail/smtp/tls.ts'
import { createReach } from '../../../net/reach.ts'
import { AUTHORITY, CERTIFICATE, RECEIVER_CERTIFICATE } from '../../harness/certificates.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { exchangerWith, OFFER, outcomeOf, send, siteOf, watchedEngineWith } from './deliver.ts'

beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), AUTHORITY]))

/** What a server lacks, after what it has shown. */
const LACKS = ['a greeting', 'TLS', 'a certificate', 'MAIL', 'RCPT', 'DATA', 'nothing'] as const
type Lack = (typeof LACKS)[number]
const SHOWN = ['greeting', 'tls', 'certificate', 'mail', 'rcpt', 'data']
/** What goes out without it, where it is not demanded. */
const OPTIONAL: readonly Lack[] = ['TLS', 'a certificate']
const IN_TRANSACTION: readonly Lack[] = ['MAIL', 'RCPT', 'DATA']
const SERVERS: Record<string, { lack: Lack; script: Script; tls?: object }> = {
  'is closed': { lack: 'a greeting', script: { greeting: 'close' } },
  'says nothing': { lack: 'a greeting', script: { greeting: 'stall' } },
  'offers no TLS': { lack: 'TLS', script: {} },
  'has a broken handshake': { lack: 'TLS', script: { ehlo: OFFER, handshake: 'close' } },
  'is not trusted': { lack: 'a certificate', script: { ehlo: OFFER }, tls: RECEIVER_CERTIFICATE },
  'is reset at MAIL': { lack: 'MAIL', script: { ehlo: OFFER, mail: 'reset' }, tls: CERTIFICATE },
  'is reset at RCPT': {
    lack: 'RCPT',
    script: { ehlo: '250-mx.test\r\n250 STARTTLS', rcpt: 'reset' },
    tls: CERTIFICATE,
  },
  'is closed at DATA': { lack: 'DATA', script: { ehlo: OFFER, data: 'close' }, tls: CERTIFICATE },
  'is closed in the content': { lack: 'DATA', script: { ehlo: OFFER, content: 'close' }, tls: CERTIFICATE },
  'is well': { lack: 'nothing', script: { ehlo: OFFER }, tls: CERTIFICATE },
}

test('what five sites lack in a row is lacking on our side, until one shows it', async () => {
  const exchangers = new Map(
    await Promise.all(
      Object.entries(SERVERS).map(async ([name, { script, tls }]) => [name, await exchangerWith(script, tls)] as const),
    ),
  )
  const server = fc.constantFrom(...Object.keys(SERVERS))
  const step = fc.record({ server, site: fc.nat(9), isDemanded: fc.boolean() })
  // Rows of the same fault, as an outage makes them.
  const row = server.chain((server) =>
    fc.array(
      step.map((each) => ({ ...each, server })),
      { minLength: 4, maxLength: 7 },
    ),
  )
  const rows = fc.array(fc.oneof(row, fc.array(step, { maxLength: 3 })), { minLength: 1, maxLength: 4 })
  const outage = (server: string) => Array.from({ length: 6 }, (_, site) => ({ server, site, isDemanded: site > 2 }))
  const examples = Object.keys(SERVERS).map((server): [ReturnType<typeof outage>[]] => [
    [outage(server), outage('is well').slice(4), outage(server)],
  ])
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(rows, async (rows) => {
      const engine = watchedEngineWith()
      const without = new Map(LACKS.map((lack) => [lack, new Set<string>()]))
      for (const { server, site, isDemanded } of rows.flat()) {
        const { lack } = SERVERS[server]!
        const limits = { connections: 2, messages: 1, perMinute: 60_000 }
        const plain = {
          ...siteOf(exchangers.get(server)!),
          key: `${site}`,
          limits,
          commandTimeoutMs: server === 'says nothing' ? 40 : 5_000,
        }
        const isStrict = isDemanded || server === 'has a broken handshake'
        const asked = isStrict ? demandTls(plain, 'MTA-STS') : plain
        const isDelivered = lack === 'nothing' || (OPTIONAL.includes(lack) && !isStrict)
        const passed = LACKS.slice(0, LACKS.indexOf(lack))
        for (const shown of isDelivered ? [...passed, ...IN_TRANSACTION] : passed) without.get(shown)!.clear()
        const others = without.get(lack)!
        if (others.size < 5) others.add(plain.key)
        const isOurs = lack !== 'nothing' && others.size === 5
        const theirs = OPTIONAL.includes(lack) ? 'policy_block' : 'connection_timeout'
        const outcome = outcomeOf(await send(engine, asked))
        seen.add(`${lack} ${outcome}`)
        expect(engine.lacking()).toEqual(SHOWN.filter((_, i) => without.get(LACKS[i]!)?.size === 5))
        if (isDelivered) expect(outcome).toBe('delivered')
        else expect(outcome).toBe(isOurs ? 'our_fault' : theirs)
      }
      engine.close()
    }),
    { numRuns: 30, examples },
  )
  for (const lack of LACKS.slice(0, -1)) expect(seen).toContain(`${lack} our_fault`)
})

test('where a witness is known a few are asked: over the same way, of other networks, and none twice within the pause', async () => {
  const PAUSE_MS = 15
  const server: fc.Arbitrary<ShowingServer> = fc
    .record({ network: fc.nat(6), host: fc.nat(3), isV6: fc.boolean(), source: fc.constantFrom(undefined, 'source') })
    .map(({ network, host, isV6, source }) => {
      const ip = isV6 ? `2606:4700:${network}::${host}` : `1.1.${network}.${host}`
      return { name: ip, port: 25, site: `${network} ${host % 2}`, ip, sourceAddress: source }
    })
  const step = fc.record({ server, isShown: fc.boolean(), isEarlier: fc.boolean(), answers: fc.boolean() })
  const networkOf = ({ ip }: Pick<ShowingServer, 'ip'>) => ip.split(/[.:]/).slice(0, 3).join()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const reach = createReach<ShowingServer>(PAUSE_MS)
      const shown = new Map<string, ShowingServer>()
      const visitedMs = new Map<string, number>()
      const pausesMs: number[] = []
      const show = (server: ShowingServer) => {
        shown.set(networkOf(server), server)
        reach.shownBy(server, performance.now())
      }
      for (const { server, isShown, isEarlier, answers } of steps) {
        if (isShown) {
          show(server)
          continue
        }
        if (isEarlier) {
          shown.set(networkOf(server), server)
          reach.remember(server)
          continue
        }
        const visited: ShowingServer[] = []
        const isCutOff = await reach.isCutOff(server, performance.now(), async (witness) => {
          const nowMs = performance.now()
          pausesMs.push(nowMs - (visitedMs.get(witness.ip) ?? -Infinity))
          visited.push(witness)
          visitedMs.set(witness.ip, nowMs)
          if (answers) show(witness)
        })
        const isWitness = ({ ip }: ShowingServer) =>
          ip.includes(':') === server.ip.includes(':') && networkOf({ ip }) !== networkOf(server)
        const overWay = (witness: ShowingServer) => ({ ...witness, sourceAddress: server.sourceAddress })
        const witnesses = [...shown.values()].filter(isWitness).map(overWay)
        expect(visited.length > 0).toBe(witnesses.length > 0)
        expect(visited.length).toBeLessThanOrEqual(4)
        expect(witnesses).toEqual(expect.arrayContaining(visited))
        expect(new Set(visited.map(networkOf)).size).toBe(visited.length)
        if (visited.length > 0) expect(isCutOff).toBe(!answers)
      }
      // A timer may fire a little early.
      for (const pauseMs of pausesMs) expect(pauseMs).toBeGreaterThan(PAUSE_MS - 2)
    }),
    { numRuns: 40 },
  )
})

test('all that ask at the same time share one round of visits', async () => {
  const reach = createReach<ShowingServer>(10_000)
  for (let network = 0; network < 50; network++) reach.shownBy(serverIn(network), 0)
  const { promise, resolve } = Promise.withResolvers<void>()
  const visit = vi.fn(() => promise)
  const sinceMs = performance.now()
  const asking = Array.from({ length: 100 }, (_, i) => reach.isCutOff(serverIn(100 + i), sinceMs, visit))
  resolve()
  expect(await Promise.all(asking)).toEqual(Array(100).fill(true))
  expect(visit).toHaveBeenCalledTimes(4)
})

const serverIn = (network: number) => ({ name: 'mx', port: 25, site: `${network}`, ip: `1.1.${network}.1` })

test('what flows over connections that are kept proves nothing of new ones', async () => {
  const [kept, witness] = [await exchangerWith(), await exchangerWith({}, {}, '127.0.2.1')]
  const engine = watchedEngineWith({ limits: { connectMs: 400, hastyMs: 100, witnessPauseMs: 0 } })
  for (const each of [kept, witness]) expect(outcomeOf(await send(engine, siteOf(each)))).toBe('delivered')
  await witness.close()
  vi.spyOn(Socket.prototype, 'connect').mockReturnThis()
  const dialling = send(engine, siteOf({ ...witness, host: '127.0.3.1' }))
  for (let i = 0; i < 20; i++) expect(outcomeOf(await send(engine, siteOf(kept)))).toBe('delivered')
  expect(outcomeOf(await dialling)).toBe('our_fault')
  vi.restoreAllMocks()
  expect(kept.sessions).toHaveLength(1)
})

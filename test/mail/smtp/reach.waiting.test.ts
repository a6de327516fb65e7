import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createReach, SHOWN_BY_SERVERS, type ShowingServer } from '../../../mail/smtp/reach.ts'
import { demandTls } from '../../../mail/smtp/tls.ts'
import { AUTHORITY, CERTIFICATE, RECEIVER_CERTIFICATE } from '../../harness/certificates.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { exchangerWith, outcomeOf, send, siteOf, watchedEngineWith } from './deliver.ts'

afterEach(() => void vi.restoreAllMocks())
beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), AUTHORITY]))

const OFFER = '250-mx.test\r\n250-PIPELINING\r\n250 STARTTLS'
/** What a server lacks, after what it has shown. */
const LACKS = ['a greeting', 'TLS', 'a certificate', 'nothing'] as const
type Lack = (typeof LACKS)[number]
const SERVERS: Record<string, { lack: Lack; script: Script; tls?: object }> = {
  'is closed': { lack: 'a greeting', script: { greeting: 'close' } },
  'says nothing': { lack: 'a greeting', script: { greeting: 'stall' } },
  'offers no TLS': { lack: 'TLS', script: {} },
  'has a broken handshake': { lack: 'TLS', script: { ehlo: OFFER, handshake: 'close' } },
  'is not trusted': { lack: 'a certificate', script: { ehlo: OFFER }, tls: RECEIVER_CERTIFICATE },
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
        for (const shown of LACKS.slice(0, LACKS.indexOf(lack))) without.get(shown)!.clear()
        const others = without.get(lack)!
        if (others.size < 5) others.add(plain.key)
        const isOurs = lack !== 'nothing' && others.size === 5
        const theirs = lack === 'a greeting' ? 'connection_timeout' : 'policy_block'
        const outcome = outcomeOf(await send(engine, asked))
        seen.add(`${lack} ${outcome}`)
        expect(engine.lacking()).toEqual(SHOWN_BY_SERVERS.filter((_, i) => without.get(LACKS[i - 1]!)?.size === 5))
        if (lack === 'nothing' || (lack !== 'a greeting' && !isStrict)) expect(outcome).toBe('delivered')
        else expect(outcome).toBe(isOurs ? 'our_fault' : theirs)
      }
      engine.close()
    }),
    { numRuns: 30, examples },
  )
  for (const lack of LACKS.slice(0, 3)) expect(seen).toContain(`${lack} our_fault`)
})

test('no witness is a server of the same way but of the same site or network, nor visited twice within the pause', async () => {
  const PAUSE_MS = 10_000
  const server: fc.Arbitrary<ShowingServer> = fc
    .record({ network: fc.nat(6), host: fc.nat(3), isV6: fc.boolean(), source: fc.constantFrom(undefined, 'source') })
    .map(({ network, host, isV6, source }) => {
      const ip = isV6 ? `2606:4700:${network}::${host}` : `1.1.${network}.${host}`
      return { name: ip, port: 25, site: `${network} ${host % 2}`, ip, sourceAddress: source }
    })
  const step = fc.record({ server, isShown: fc.boolean(), answers: fc.boolean(), waitMs: fc.nat(4_000) })
  let visitsSeen = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      let nowMs = 0
      vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
      const reach = createReach(PAUSE_MS)
      const lastShown = new Map<string, ShowingServer>()
      const visitedMs = new Map<string, number>()
      const wayOf = ({ ip, sourceAddress }: ShowingServer) => `${ip.includes(':')} ${sourceAddress}`
      const networkOf = ({ ip }: ShowingServer) => ip.split(/[.:]/).slice(0, 3).join()
      for (const { server, isShown, answers, waitMs } of steps) {
        nowMs += 1 + waitMs
        const show = (shown: ShowingServer) => {
          lastShown.set(`${wayOf(shown)} ${networkOf(shown)}`, shown)
          reach.shownBy(shown, nowMs)
        }
        if (isShown) {
          show(server)
          continue
        }
        const visited: ShowingServer[] = []
        const sinceMs = nowMs
        const isCutOff = await reach.isCutOff(server, sinceMs, async (witness) => {
          visited.push(witness)
          nowMs++
          if (answers) show(witness)
        })
        visitsSeen += visited.length
        expect(visited.length).toBeLessThanOrEqual(4)
        expect(new Set(visited.map(networkOf)).size).toBe(visited.length)
        for (const witness of visited) {
          const place = `${wayOf(witness)} ${networkOf(witness)}`
          expect(wayOf(witness)).toBe(wayOf(server))
          expect([networkOf(witness), witness.site]).not.toContain(networkOf(server))
          expect(witness.site).not.toBe(server.site)
          expect(sinceMs - (visitedMs.get(place) ?? -Infinity)).toBeGreaterThanOrEqual(PAUSE_MS)
          expect(lastShown.has(place)).toBe(true)
          visitedMs.set(place, sinceMs)
        }
        if (visited.length > 0) expect(isCutOff).toBe(!answers)
      }
      vi.restoreAllMocks()
    }),
    { numRuns: 200 },
  )
  expect(visitsSeen).toBeGreaterThan(100)
})

test('all that ask at the same time share one round of visits', async () => {
  const reach = createReach(10_000)
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

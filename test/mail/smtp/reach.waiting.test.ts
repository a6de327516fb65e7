import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { SHOWN_BY_SERVERS } from '../../../mail/smtp/reach.ts'
import { demandTls } from '../../../mail/smtp/tls.ts'
import { AUTHORITY, CERTIFICATE, RECEIVER_CERTIFICATE } from '../../harness/certificates.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { exchangerWith, outcomeOf, send, siteOf, watchedEngineWith } from './deliver.ts'

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

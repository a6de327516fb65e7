import { createHash, X509Certificate } from 'node:crypto'
import { Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { Resolver } from '../../../mail/dns/resolver.ts'
import type { WatchedEngine } from '../../../mail/smtp/attempt.ts'
import { demandTls } from '../../../mail/smtp/tls.ts'
import {
  AUTHORITY,
  CERTIFICATE,
  EXPIRED_CERTIFICATE,
  POLICY_AUTHORITY,
  RECEIVER_CERTIFICATE,
} from '../../harness/certificates.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { exchangerWith, hostOf, OFFER, outcomeOf, send, watchedEngineWith } from './deliver.ts'

// The law: what a server lacks is the recipient's only while another one shows it to this machine.

beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), AUTHORITY, POLICY_AUTHORITY]))
afterEach(() => void vi.restoreAllMocks())

/** The faults of one server, or by a fault of ours of all of them, with the outcome where it is the server's. */
const FAULTS: Record<string, { theirs: string; script?: Script; tls?: object }> = {
  silent: { theirs: 'connection_timeout' },
  ETIMEDOUT: { theirs: 'connection_timeout' },
  EHOSTUNREACH: { theirs: 'connection_timeout' },
  ECONNREFUSED: { theirs: 'connection_timeout' },
  'is closed': { theirs: 'connection_timeout', script: { greeting: 'close' } },
  'is closed at EHLO': { theirs: 'connection_timeout', script: { ehlo: 'close' } },
  'is reset at EHLO': { theirs: 'connection_timeout', script: { ehlo: 'reset' } },
  'says nothing': { theirs: 'connection_timeout', script: { greeting: 'stall' } },
  'offers no TLS': { theirs: 'policy_block', script: {} },
  'has a broken handshake': { theirs: 'policy_block', script: { ehlo: OFFER, handshake: 'close' } },
  'falls silent at EHLO': { theirs: 'connection_timeout', script: { ehlo: 'stall' } },
  'falls silent at STARTTLS': { theirs: 'connection_timeout', script: { ehlo: OFFER, starttls: 'stall' } },
  'falls silent in the handshake': { theirs: 'connection_timeout', script: { ehlo: OFFER, handshake: 'stall' } },
  'falls silent at MAIL': { theirs: 'connection_timeout', script: { ehlo: OFFER, mail: 'stall' } },
  'falls silent at RCPT': { theirs: 'connection_timeout', script: { ehlo: OFFER, rcpt: 'stall' } },
  'falls silent at DATA': { theirs: 'connection_timeout', script: { ehlo: OFFER, data: 'stall' } },
  // By a clock of ours that is wrong, and the database's with it, all certificates have expired.
  'has expired': { theirs: 'policy_block', script: { ehlo: OFFER }, tls: EXPIRED_CERTIFICATE },
  'is not trusted': { theirs: 'policy_block', script: { ehlo: OFFER }, tls: RECEIVER_CERTIFICATE },
}

/** Where connections to a port lead: to another port, nowhere, or to an error of the network. */
type Lead = (port: number) => number | string

function leadConnections(lead: Lead): void {
  const connect = Socket.prototype.connect as (...args: unknown[]) => Socket
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
    const [[options]] = args as [[{ port: number }]]
    const { port } = options
    const end = lead(port)
    if (typeof end === 'number') options.port = end
    if (typeof end === 'number') return connect.apply(this, args)
    if (end === 'silent') return this
    const error = Object.assign(new Error(end), { code: end })
    setImmediate(() => {
      this.emit('connectionAttemptFailed', '', port, 4, error)
      this.destroy(error)
    })
    return this
  })
}

const MX = 'mx1.example.test'

const publicKey = new X509Certificate(CERTIFICATE.cert).publicKey.export({ type: 'spki', format: 'der' })
const data = createHash('sha256').update(publicKey).digest('hex')
const DANE = { records: [{ usage: 3, selector: 1, matching: 1, data }], baseDomain: MX, names: [MX] }

/** Faults that only a server can deny whose certificate is proved in the same way. */
const OF_CERTIFICATES = ['has expired', 'is not trusted']

/** An engine for which the exchanger of a domain has the domain as its address. */
function newEngine(smtpPort: number): WatchedEngine {
  let address = ''
  const resolver: Resolver = {
    async mx(domain) {
      address = domain
      return { kind: 'records', records: [{ name: MX, preference: 0 }], ttlS: 1 }
    },
    a: async () => ({ kind: 'records', records: [address], ttlS: 1 }),
    aaaa: async () => ({ kind: 'nodata' }),
    txt: async () => ({ kind: 'nodata' }),
  }
  const limits = { connectMs: 100, hastyMs: 100, raceMs: 10, witnessPauseMs: 0 }
  return watchedEngineWith({ resolver, smtpPort, limits })
}

type StepOf<T> = T extends fc.Arbitrary<infer Step> ? Step : never

test('what a server lacks counts as its own fault only while another one shows it, from the first send on', async () => {
  const ANY = '0.0.0.0'
  const well = await exchangerWith({ ehlo: OFFER }, CERTIFICATE, ANY)
  const places = new Map<string, number | string>([['well', well.port]])
  /** Connections to the port of a server are led to its place. */
  const portOf = (server: string) => Object.keys(FAULTS).indexOf(server) + 2
  const serverAt = (port: number) => Object.keys(FAULTS)[port - 2] ?? 'well'
  for (const [name, { script, tls = CERTIFICATE }] of Object.entries(FAULTS))
    places.set(name, script ? (await exchangerWith(script, tls, ANY)).port : name)

  const fault = fc.constantFrom(...Object.keys(FAULTS))
  const step = fc.record({
    /** Each network has two sites. */
    network: fc.nat(4),
    host: fc.nat(1),
    server: fc.oneof(fault, fc.constant('well'), fc.constant('well')),
    /** What is wrong on our side meanwhile. */
    cut: fc.oneof(fault, fc.constant(undefined)),
    /** Its TLSA records demand TLS, and not the policy of the domain. */
    isDane: fc.boolean(),
    /** A new process begins before it, which is given the domains of earlier deliveries. */
    isNew: fc.boolean(),
  })
  const seen = new Set<string>()
  const examples = [false, true].flatMap((isDane) =>
    Object.keys(FAULTS).map((fault): [StepOf<typeof step>[]] => {
      const well = { host: 0, server: 'well', cut: undefined, isDane, isNew: false }
      return [
        [
          { ...well, network: 0 },
          { ...well, network: 1, server: fault },
          { ...well, network: 2, cut: fault },
          { ...well, network: 3, server: fault },
        ],
      ]
    }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      let engine = newEngine(portOf('well'))
      const limits = { connections: 2, messages: 1, perMinute: 60_000 }
      /** Where a delivery was proved by a policy, and where by TLSA records. */
      const [byPolicy, byDane] = [new Set<number>(), new Set<number>()]
      for (const { network, host, cut, isDane, isNew, ...step } of steps) {
        if (isNew) {
          engine.close()
          engine = newEngine(portOf('well'))
          // It finds no TLSA records.
          for (const network of byDane) byPolicy.add(network)
          byDane.clear()
          for (const network of byPolicy) await engine.remember(`127.0.${network}.1`, MX)
        }
        const server = cut ? 'well' : step.server
        vi.restoreAllMocks()
        let isBroken = false
        leadConnections((port) => {
          // The way breaks in the session, and no further one begins.
          if (isBroken) return 'silent'
          isBroken = cut?.startsWith('falls silent') === true
          return places.get(cut ?? serverAt(port))!
        })
        const place = { host: `127.0.${network}.${host + 1}`, port: portOf(server) }
        const key = `${place.host}:${place.port}`
        const mail = { key, hosts: [hostOf(place)], limits, commandTimeoutMs: 100 }
        const site = isDane
          ? { ...mail, key: `${key} by DANE`, name: key, hosts: [{ ...hostOf(place), dane: DANE }] }
          : demandTls(mail, 'MTA-STS')
        const outcome = outcomeOf(await send(engine, site))
        const told = cut ?? server
        const proved = isDane ? byDane : byPolicy
        const networks = OF_CERTIFICATES.includes(told) ? proved : new Set([...byDane, ...byPolicy])
        const hasWitness = networks.size > (networks.has(network) ? 1 : 0)
        if (told === 'well') {
          expect(outcome).toBe('delivered')
          proved.add(network)
        } else if (hasWitness) expect([told, outcome]).toEqual([told, cut ? 'our_fault' : FAULTS[told]!.theirs])
        seen.add(`${cut ? 'cut' : 'dead'} ${told} ${outcome}`)
      }
      engine.close()
    }),
    { numRuns: 45, examples },
  )
  for (const [name, { theirs }] of Object.entries(FAULTS)) {
    expect(seen).toContain(`cut ${name} our_fault`)
    expect(seen).toContain(`dead ${name} ${theirs}`)
  }
})

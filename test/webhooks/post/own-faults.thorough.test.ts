import { createServer } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { constants } from 'node:os'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import { createLookup } from '../../../net/lookup.ts'
import { endedBy } from '../../../net/own-errors.ts'
import { AUTHORITY, EXPIRED_CERTIFICATE, RECEIVER_AUTHORITY } from '../../harness/certificates.ts'
import { a, type DnsAct, mx, startDns } from '../../harness/dns.ts'
import { startReceiver } from '../../harness/receiver.ts'
import { ends, newAccountPost, startListening, undo } from './posting.ts'

// The law: a POST that a fault of this service, its machine or its network keeps from being made is no attempt.

afterEach(async () => {
  vi.restoreAllMocks()
  await undo()
})

const KNOWN = ['one.org', 'two.org', 'three.org', 'four.org', 'five.org']
const HOST = 'receiver.example.test'
const PRIVATE = '10.0.0.1'
const OURS = 'none'

/** What a resolver says of all names, or of the endpoint's alone; undefined where it says the truth. */
const DNS: Record<string, { say(type: string): DnsAct | undefined; theirs: string; isFailure?: true }> = {
  'is well': { say: () => undefined, theirs: 'acked' },
  'denies it': { say: () => 'nxdomain', theirs: 'dns' },
  'has no records': { say: () => 'nodata', theirs: 'dns' },
  fails: { say: () => 'servfail', theirs: 'dns', isFailure: true },
  refuses: { say: () => 'refused', theirs: 'dns', isFailure: true },
  'leads to a private address': { say: (type) => (type === 'A' ? [a(HOST, PRIVATE)] : 'nodata'), theirs: 'blocked' },
  'leads to a portal': { say: (type) => (type === 'A' ? [a(HOST, '127.0.0.66')] : 'nodata'), theirs: 'connect' },
}

/** What the endpoint itself does, with the outcome. */
const ENDPOINTS = { works: 'acked', 'refuses connections': 'connect', 'has an expired certificate': 'tls' }

/** Errors that connect() returns itself. Only some can also be those of the network. */
const LOCAL_CODES = Object.keys(constants.errno).filter((code) => code !== 'EINPROGRESS')

test('a POST that a fault of ours prevents is no attempt, and one that the endpoint prevents is', async () => {
  const [working, expired, gone] = [
    await startReceiver({ tls: true }),
    await startReceiver({ tls: EXPIRED_CERTIFICATE }),
    await startReceiver(),
  ]
  await gone.close()
  ends.push(working.close, expired.close)
  const portOf = {
    works: working.port,
    'refuses connections': gone.port,
    'has an expired certificate': expired.port,
  }
  const dns = await startDns()
  ends.push(dns.close)
  const endpoints = Object.keys(ENDPOINTS) as (keyof typeof ENDPOINTS)[]
  const circumstances = fc.record({
    dnsState: fc.constantFrom(...Object.keys(DNS)),
    /** It does so with all names. */
    isOfAll: fc.boolean(),
    areKnown: fc.boolean(),
    endpoint: fc.constantFrom(...endpoints),
    isClockWrong: fc.boolean(),
    connectError: fc.option(fc.constantFrom(...LOCAL_CODES), { nil: undefined, freq: 4 }),
    /** The error comes from the network: a packet has left. */
    isFromNetwork: fc.boolean(),
  })
  const calm = { isOfAll: false, areKnown: true, isClockWrong: false, connectError: undefined, isFromNetwork: false }
  const examples = Object.keys(DNS).flatMap((dnsState) =>
    endpoints.map((endpoint): [typeof circumstances extends fc.Arbitrary<infer Value> ? Value : never] => [
      { ...calm, dnsState, endpoint },
    ]),
  )
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(circumstances, async (these) => {
      const { dnsState, isOfAll, areKnown, endpoint, isClockWrong, connectError, isFromNetwork } = these
      const { say, theirs, isFailure } = DNS[dnsState]!
      for (const name of KNOWN) {
        dns.zone[`MX ${name}`] =
          isOfAll && dnsState !== 'is well' ? (say('MX') ?? 'nxdomain') : [mx(name, 10, `mx.${name}`)]
      }
      dns.zone[`A ${HOST}`] = say('A') ?? [a(HOST, '127.0.0.1')]
      dns.zone[`AAAA ${HOST}`] = say('AAAA') ?? 'nodata'
      const resolver = createResolver({ servers: [dns.address], queryTimeoutMs: 5_000 })
      if (areKnown) for (const name of KNOWN) resolver.remember(name)
      const clockErrorMs = () => (isClockWrong ? -86_400_000 : 0)
      const common = { allowSubnets: ['127.0.0.0/8'], ca: `${AUTHORITY}\n${RECEIVER_AUTHORITY}` }
      const post = newAccountPost({ ...common, lookup: createLookup(resolver), isFact: resolver.isFact, clockErrorMs })
      if (connectError) failConnections(connectError, isFromNetwork)
      const result = await post(`https://${HOST}:${portOf[endpoint]}/`)
      vi.restoreAllMocks()

      const isReached = theirs === 'acked' || theirs === 'connect'
      const isLocal = isReached && connectError && !(isFromNetwork && endedBy(connectError) === 'closed')
      const isLie = areKnown && isOfAll && dnsState !== 'is well'
      const isUnproven = !areKnown && isFailure
      const plain = theirs !== 'acked' ? theirs : connectError ? 'connect' : ENDPOINTS[endpoint]
      const isByClock = plain === 'tls' && isClockWrong
      const expected = isLocal || isLie || isUnproven || isByClock ? OURS : plain
      expect(result?.outcome ?? OURS).toBe(expected)
      seen.add(expected)
    }),
    { numRuns: 300, examples },
  )
  expect([...seen].sort()).toEqual(['acked', 'blocked', 'connect', 'dns', OURS, 'tls'].sort())
})

/** Connections by TCP fail at once, as connect() itself or the network says. */
function failConnections(code: string, isFromNetwork: boolean): void {
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
    const error = Object.assign(new Error(code), { code })
    setImmediate(() => {
      if (isFromNetwork) this.emit('connectionAttemptFailed', '127.0.0.1', 443, 4, error)
      this.destroy(error)
    })
    return this
  })
}

test('a proxy of ours that is not reached, or does not know us, is no attempt; what it says of the endpoint is one', async () => {
  const target = await startReceiver()
  ends.push(target.close)
  for (const status of [407, 502, 503, 504, undefined]) {
    const server = createServer()
    server.on('connect', (_, socket) => socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`))
    await startListening(server)
    const { port } = server.address() as AddressInfo
    if (status === undefined) await new Promise((resolve) => server.close(resolve))
    for (const protocol of ['http', 'https']) {
      const result = await newAccountPost({ proxy: `${protocol}://127.0.0.1:${port}` })(target.url)
      const isOurs = status === 407 || status === undefined || protocol === 'https'
      expect([status, protocol, result?.outcome]).toEqual([status, protocol, isOurs ? undefined : 'connect'])
    }
  }
})

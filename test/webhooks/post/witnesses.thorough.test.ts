import { Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { EXPIRED_CERTIFICATE, RECEIVER_AUTHORITY } from '../../harness/certificates.ts'
import { newAccountPost, newReceiver, undo } from './posting.ts'

// The law: what an endpoint lacks is its own lack only while another endpoint has it.

afterEach(async () => {
  vi.restoreAllMocks()
  await undo()
})

const HOST = 'receiver.example.test'
/** The faults of one endpoint, or by a fault of ours of all of them, with the outcome where it is the endpoint's. */
const FAULTS: Record<string, { theirs: string; tls?: { cert: string; key: string } | 'broken' }> = {
  silent: { theirs: 'connect' },
  ETIMEDOUT: { theirs: 'connect' },
  ECONNREFUSED: { theirs: 'connect' },
  ECONNRESET: { theirs: 'connect' },
  EHOSTUNREACH: { theirs: 'connect' },
  'speaks no TLS': { theirs: 'tls', tls: 'broken' },
  'is not trusted': { theirs: 'tls', tls: EXPIRED_CERTIFICATE },
}

/** Where connections to a port lead: to another port of loopback, nowhere, or to an error of the network. */
function leadConnections(lead: (port: number) => number | string): void {
  const connect = Socket.prototype.connect as (...args: unknown[]) => Socket
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
    const [[options]] = args as [[{ port: number; lookup: unknown }]]
    const end = lead(options.port)
    if (typeof end === 'number') {
      options.port = end
      options.lookup = (_name: string, _options: object, done: (fault: null, found: object[]) => void) =>
        done(null, [{ address: '127.0.0.1', family: 4 }])
      return connect.apply(this, args)
    }
    if (end === 'silent') return this
    const error = Object.assign(new Error(end), { code: end })
    setImmediate(() => {
      this.emit('connectionAttemptFailed', '', options.port, 4, error)
      this.destroy(error)
    })
    return this
  })
}

test('what an endpoint lacks spends an attempt only while another endpoint has it', async () => {
  const well = await newReceiver({ tls: true })
  const places = new Map<string, number | string>([['well', well.port]])
  for (const [name, { tls }] of Object.entries(FAULTS)) places.set(name, tls ? (await newReceiver({ tls })).port : name)
  const names = Object.keys(FAULTS)
  const portOf = (endpoint: string) => names.indexOf(endpoint) + 2
  const endpointAt = (port: number) => names[(port % 100) - 2] ?? 'well'
  const fault = fc.constantFrom(...names)
  const step = fc.record({
    network: fc.nat(4),
    endpoint: fc.oneof(fault, fc.constant('well'), fc.constant('well')),
    /** What is wrong on our side meanwhile. */
    cut: fc.oneof(fault, fc.constant(undefined)),
  })
  const WELL = { endpoint: 'well', cut: undefined }
  const examples = names.map((fault): [{ network: number; endpoint: string; cut: string | undefined }[]] => [
    [
      { ...WELL, network: 0 },
      { ...WELL, network: 1, endpoint: fault },
      { ...WELL, network: 2, cut: fault },
    ],
  ])
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 6 }), async (steps) => {
      let address = ''
      const lookup = async () => [address]
      const limits = { connectMs: 700, witnessPauseMs: 0 }
      const post = newAccountPost({ allowSubnets: ['127.0.0.0/16'], lookup, ca: RECEIVER_AUTHORITY, limits })
      const networks = new Set<number>()
      for (const [i, { network, endpoint, cut }] of steps.entries()) {
        vi.restoreAllMocks()
        leadConnections((port) => places.get(cut ?? endpointAt(port))!)
        address = `127.0.${network}.1`
        const told = cut ?? endpoint
        // No connection is kept from one step to the next.
        const result = await post(`https://${HOST}:${(i + 1) * 100 + portOf(cut ? 'well' : endpoint)}/`)
        const outcome = result?.outcome ?? 'none'
        if (told === 'well') expect(outcome).toBe('acked')
        else if (networks.size > (networks.has(network) ? 1 : 0))
          expect([told, outcome]).toEqual([told, cut ? 'none' : FAULTS[told]!.theirs])
        if (told === 'well') networks.add(network)
        seen.add(`${cut ? 'cut' : 'dead'} ${told} ${outcome}`)
      }
    }),
    { numRuns: 12, examples },
  )
  for (const [name, { theirs }] of Object.entries(FAULTS)) {
    expect(seen).toContain(`cut ${name} none`)
    expect(seen).toContain(`dead ${name} ${theirs}`)
  }
})

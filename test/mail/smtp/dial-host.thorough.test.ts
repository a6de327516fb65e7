import { getEventListeners } from 'node:events'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { type ConnectFailure, dialHost } from '../../../mail/smtp/dial-host.ts'
import { ENGINE_LIMITS } from '../../../mail/smtp/engine-limits.ts'
import type { ShowingServer, Shown, WitnessVisit } from '../../../mail/smtp/shown.ts'
import { createReach } from '../../../net/reach.ts'
import { quietFor, takes } from '../../harness/waits.ts'
import { closedPort, engineWith, exchangerWith, hostOf, outcomeOf, send } from './deliver.ts'

// The faults that no server of a test can cause: each address answers as the test says, without a network.

afterEach(() => void vi.restoreAllMocks())

/** `silent`, `open`, or the code of an error: after `now` connect() returns it, else it comes from the network. */
type Answers = Record<string, string>

/** Ends the socket as Node ends it; the event tells an error of the network. */
function failWith(socket: Socket, answer: string): void {
  const code = answer.replace('now ', '')
  const error = Object.assign(new Error(code), { code })
  if (code !== answer) return void socket.destroy(error)
  setImmediate(() => {
    socket.emit('connectionAttemptFailed', '', 25, 4, error)
    socket.destroy(error)
  })
}

function network(answers: Answers) {
  const dialled: string[] = []
  const sockets: Socket[] = []
  const options: object[] = []
  const connect = Socket.prototype.connect as (...args: unknown[]) => Socket
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
    const [[{ host, ...more }]] = args as [[{ host: string }]]
    const answer = answers[host]
    if (answer === undefined) return connect.apply(this, args)
    dialled.push(host)
    options.push(more)
    sockets.push(this)
    if (answer === 'open') setImmediate(() => this.emit('connect'))
    else if (answer !== 'silent') failWith(this, answer)
    return this
  })
  return { dialled, sockets, options }
}

interface Options {
  site?: string
  reach?: Shown['connection']
  sourceAddress?: string
  signal?: AbortSignal
  connectMs?: number
  untilMs?: number
  raceMs?: number
  visit?: WitnessVisit
}

async function dial(answers: Answers, { raceMs = 10_000, ...more }: Options = {}, addresses = Object.keys(answers)) {
  const { dialled, sockets, options } = network(answers)
  const result = await dialHost({
    host: { name: 'mx.test', preference: 0, addresses, port: 25 },
    site: 'mx.test',
    reach: createReach<ShowingServer>(0),
    untilMs: performance.now() + 10_000,
    connectMs: 10_000,
    limits: { ...ENGINE_LIMITS, raceMs },
    ...more,
  })
  return { result, dialled, options, open: sockets.filter(({ destroyed }) => !destroyed) }
}

/** Errors of the whole machine, and those of the way to an address. */
const SHORTAGES = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRINUSE', 'EADDRNOTAVAIL']
const NO_WAY = ['ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN', 'EINVAL', 'EAFNOSUPPORT', 'EACCES', 'EPERM', 'EOTHER']
/** What packets of the network can cause: an RST, and the messages of ICMP. */
const THEIRS = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EACCES',
  'ETIMEDOUT',
  'EHOSTDOWN',
  'EPROTO',
]
const OURS = [...SHORTAGES, 'ENETDOWN', 'EPERM']

test.each([
  ...SHORTAGES.map((code) => [`now ${code}`, 'local'] as const),
  ...NO_WAY.map((code) => [`now ${code}`, 'unreachable'] as const),
  ...OURS.map((code) => [code, 'local'] as const),
  ...THEIRS.map((code) => [code, 'closed'] as const),
])(
  'an address that fails with "%s" counts as %s: a fault of this machine proves nothing about the server',
  async (answer, how) => {
    const { result } = await dial({ '192.0.2.1': answer })
    const detail = `${answer.replace('now ', '')} 192.0.2.1`
    expect(result).toMatchObject({ kind: 'not_connected', how, detail, ip: '192.0.2.1' })
  },
)

test('Node reports an error that connect() returns otherwise than one that comes from the network', async () => {
  const { port } = await closedPort()
  const howOf = async (ip: string, sourceAddress?: string) => {
    const host = { name: 'mx.test', preference: 0, addresses: [ip], port }
    const untilMs = performance.now() + 10_000
    return dialHost({
      host,
      site: '',
      reach: createReach<ShowingServer>(0),
      sourceAddress,
      untilMs,
      connectMs: 10_000,
      limits: ENGINE_LIMITS,
    })
  }
  // No connection leads to the address of a broadcast.
  expect(await howOf('255.255.255.255')).toMatchObject({ how: 'unreachable' })
  expect(await howOf('127.0.0.1')).toMatchObject({ how: 'closed' })
  expect(await howOf('127.0.0.1', '192.0.2.7')).toMatchObject({ how: 'local' })
})

const anyOf = (codes: string[], before = '') => fc.constantFrom(...codes.map((code) => before + code))

test('an address to which this machine has no way decides only where all are such, and then it is our fault', async () => {
  const answer = fc.oneof(anyOf(NO_WAY, 'now '), anyOf(THEIRS), fc.constant('silent'))
  const address = fc.record({ isV6: fc.boolean(), answer })
  const source = fc.constantFrom(undefined, '192.0.2.99', '2001:db8::99')
  await fc.assert(
    fc.asyncProperty(fc.array(address, { minLength: 1, maxLength: 6 }), source, async (all, sourceAddress) => {
      const entries = all.map(({ isV6, answer }, i) => [isV6 ? `2001:db8::${i}` : `192.0.2.${i}`, answer] as const)
      const { result } = await dial(Object.fromEntries(entries), { sourceAddress, connectMs: 10, raceMs: 1 })
      const mayLeave = entries.filter(([ip]) => !sourceAddress || ip.includes(':') === sourceAddress.includes(':'))
      const tried = mayLeave.filter(([, answer]) => !answer.startsWith('now'))
      // Without a source address this machine need not have IPv6.
      const isOurs = mayLeave.some(([ip]) => sourceAddress || !ip.includes(':'))
      if (tried.length > 0) {
        expect(['closed', 'timeout']).toContain((result as { how: string }).how)
        expect(tried.map(([ip]) => ip)).toContain((result as { ip?: string }).ip)
      } else expect(result).toMatchObject({ how: isOurs ? 'unreachable' : 'other_family' })
      vi.restoreAllMocks()
    }),
    { numRuns: 200 },
  )
})

test('an exchanger to which this machine has no way hides no other one, and silence elsewhere proves nothing then', async () => {
  const well = await exchangerWith()
  const { port } = await closedPort()
  const host = fc.record({ isV6: fc.boolean(), answer: fc.oneof(anyOf(NO_WAY, 'now '), anyOf(THEIRS)) })
  const all = fc.array(fc.oneof({ weight: 4, arbitrary: host }, fc.constant('well' as const)), {
    minLength: 1,
    maxLength: 4,
  })
  await fc.assert(
    fc.asyncProperty(all, async (all) => {
      const answers: Answers = {}
      const hosts = all.map((each, i) => {
        const ip = each !== 'well' && each.isV6 ? `2001:db8::${i}` : `192.0.2.${i}`
        if (each !== 'well') answers[ip] = each.answer
        return hostOf(each === 'well' ? well : { host: ip, port }, `mx${i}.example.test`)
      })
      network(answers)
      const attempt = await send(engineWith(), { key: JSON.stringify(all), hosts })
      vi.restoreAllMocks()
      const isOurs = all.some((each) => each !== 'well' && !each.isV6 && each.answer.startsWith('now'))
      const failed = isOurs ? 'our_fault' : 'connection_timeout'
      expect(outcomeOf(attempt)).toBe(all.includes('well') ? 'delivered' : failed)
      expect(attempt.tried?.length ?? 0).toBe(all.includes('well') ? all.indexOf('well') : all.length - 1)
    }),
    { numRuns: 100 },
  )
})

test('after five sites in a row without a connection the fault is ours, until one is reached', async () => {
  const failures = ['silent', 'ENETUNREACH', 'EHOSTUNREACH', 'EACCES', 'ETIMEDOUT']
  // Without a witness a refusal is that of the server, and not of a firewall of ours.
  const refusals = ['ECONNREFUSED', 'ECONNRESET']
  const answer = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...failures) },
    { weight: 1, arbitrary: fc.constantFrom('open', ...refusals) },
  )
  const step = fc.record({ site: fc.nat(7), isV6: fc.boolean(), hasSource: fc.boolean(), answer })
  let cutOff = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const reach = createReach<ShowingServer>(0)
      const unreached = new Map<string, Set<number>>()
      let hasV6 = false
      for (const { site, isV6, hasSource, answer } of steps) {
        const ip = isV6 ? '2001:db8::1' : '192.0.2.1'
        const sourceAddress = hasSource ? (isV6 ? '2001:db8::99' : '192.0.2.99') : undefined
        const { result } = await dial({ [ip]: answer }, { site: `site ${site}`, reach, sourceAddress, connectMs: 2 })
        vi.restoreAllMocks()
        const sites = unreached.get(`${isV6} ${hasSource}`) ?? new Set()
        unreached.set(`${isV6} ${hasSource}`, sites)
        if (answer === 'open') sites.clear()
        else if (!refusals.includes(answer) && sites.size < 5) sites.add(site)
        hasV6 ||= answer === 'open' && isV6 && !hasSource
        if (answer === 'open') expect(result.kind).toBe('connected')
        else if (refusals.includes(answer) || sites.size < 5)
          expect(result).toMatchObject({ how: answer === 'silent' ? 'timeout' : 'closed' })
        else {
          cutOff++
          // A machine need not have IPv6, until a server was reached over it.
          expect(result).toMatchObject({ how: isV6 && !hasSource && !hasV6 ? 'other_family' : 'unreachable' })
        }
      }
    }),
    { numRuns: 60 },
  )
  expect(cutOff).toBeGreaterThan(0)
})

test('however little time an address has, silence for four races counts as not reached', async () => {
  const times = fc.record({ raceMs: fc.integer({ min: 2, max: 20 }), leftRaces: fc.integer({ min: 6, max: 12 }) })
  await fc.assert(
    fc.asyncProperty(times, async ({ raceMs, leftRaces }) => {
      const reach = createReach<ShowingServer>(0)
      reach.shownBy({ name: 'witness', port: 25, site: 'witness', ip: '198.51.100.1' }, 0)
      const untilMs = performance.now() + leftRaces * raceMs
      const visit = vi.fn(async () => {})
      const { result } = await dial({ '192.0.2.1': 'silent' }, { reach, raceMs, untilMs, visit })
      vi.restoreAllMocks()
      expect(visit).toHaveBeenCalled()
      expect(result).toMatchObject({ how: 'unreachable' })
    }),
    { numRuns: 20 },
  )
})

test('sites that are silent at the same time count before their time is over, and are judged together', async () => {
  const answer = fc.constantFrom('silent', 'ETIMEDOUT')
  const world = fc.record({ later: fc.array(answer, { minLength: 1, maxLength: 12 }), isReached: fc.boolean() })
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(world, async ({ later, isReached }) => {
      const reach = createReach<ShowingServer>(0)
      const answers = Object.fromEntries(later.map((_, i) => [`192.0.2.${i}`, 'silent']))
      const { sockets } = network({ ...answers, '192.0.2.99': 'open' })
      const dialling = later.map((_, i) => dialAlone(`192.0.2.${i}`, reach))
      await takes(25, undefined)
      if (isReached) await dialAlone('192.0.2.99', reach)
      for (const [i, code] of later.entries()) if (code === 'ETIMEDOUT') failWith(sockets[i]!, code)
      for (const result of await Promise.all(dialling)) {
        const { how } = result as ConnectFailure
        seen.add(how)
        if (isReached) expect(how).not.toBe('unreachable')
        else expect(how === 'unreachable').toBe(later.length >= 5)
      }
      vi.restoreAllMocks()
    }),
    { numRuns: 40 },
  )
  expect([...seen].sort()).toEqual(['closed', 'timeout', 'unreachable'])
})

function dialAlone(ip: string, reach: Shown['connection']) {
  const host = { name: ip, preference: 0, addresses: [ip], port: 25 }
  const untilMs = performance.now() + 10_000
  return dialHost({ host, site: ip, reach, untilMs, connectMs: 100, limits: { ...ENGINE_LIMITS, raceMs: 5 } })
}

test('sites that were not reached over a minute ago do not count, and those on the own network are counted apart', async () => {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const reach = createReach<ShowingServer>(0)
  const serverAt = (site: string, ip: string) => ({ name: site, port: 25, site, ip })
  const isCutOff = (site: string, ip = '203.0.113.1') => reach.isCutOff(serverAt(site, ip), nowMs)
  for (const site of ['a', 'b', 'c', 'd']) expect(await isCutOff(site)).toBe(false)
  nowMs = 60_000
  expect(await isCutOff('e')).toBe(false)
  for (const site of ['f', 'g', 'h']) expect(await isCutOff(site)).toBe(false)
  reach.shownBy(serverAt('home', '127.0.0.1'), nowMs)
  expect(await isCutOff('i')).toBe(true)
  expect(await isCutOff('j', '127.0.0.1')).toBe(false)
  // It stays so until a server is reached.
  nowMs = 600_000
  expect(await isCutOff('i')).toBe(true)
  reach.shownBy(serverAt('away', '203.0.113.9'), nowMs)
  expect(await isCutOff('i')).toBe(false)
})

test('without a witness of another network five sites decide, and each exchanger is asked all the same', async () => {
  const [well, engine] = [await exchangerWith(), engineWith()]
  const away = Array.from({ length: 9 }, (_, i) => `127.0.0.${100 + i}`)
  network(Object.fromEntries(away.map((ip) => [ip, 'EHOSTUNREACH'])))
  const outcomes = async (...sites: string[][]) => {
    const seen: string[] = []
    for (const ips of sites) {
      const hosts = ips.map((ip, i) => hostOf({ host: ip, port: well.port }, `mx${i}.${ip}.example.test`))
      seen.push(outcomeOf(await send(engine, { key: ips.join(), hosts })))
    }
    return seen
  }
  const [delivered, four] = [['delivered'], Array(4).fill('connection_timeout')]
  const alone = away.map((ip) => [ip])
  expect(await outcomes([well.host])).toEqual(delivered)
  expect(await outcomes(...alone.slice(0, 4))).toEqual(four)
  // A reply over a connection that was kept proves nothing of new ones.
  expect(await outcomes([well.host])).toEqual(delivered)
  expect(well.sessions).toHaveLength(1)
  expect(await outcomes(...alone.slice(4), ...alone)).toEqual(Array(14).fill('our_fault'))
  expect(await outcomes([away[0]!, well.host])).toEqual(delivered)
  expect(await outcomes(...alone.slice(0, 4))).toEqual(four)
})

test('an error without a code is reported by its message', async () => {
  const dialling = dial({ '192.0.2.1': 'silent' })
  const [socket] = vi.mocked(Socket.prototype.connect).mock.contexts as Socket[]
  socket!.emit('error', new Error('odd'))
  expect((await dialling).result).toMatchObject({ how: 'unreachable', detail: 'odd 192.0.2.1' })
})

test('a machine that has reached a server over IPv6 must have a way to the next one', async () => {
  const reach = createReach<ShowingServer>(0)
  const answers = { '2606:4700::1': 'now ENETUNREACH' }
  expect((await dial(answers, { reach })).result).toMatchObject({ how: 'other_family' })
  vi.restoreAllMocks()
  await dial({ '2606:4700:2::1': 'open' }, { reach })
  vi.restoreAllMocks()
  expect((await dial(answers, { reach })).result).toMatchObject({ how: 'unreachable' })
})

test('a machine without IPv6 cannot reach an address, and one that lacks its source address is at fault', async () => {
  const answers = { '2001:db8::1': 'now EADDRNOTAVAIL' }
  expect((await dial(answers)).result).toMatchObject({ how: 'other_family', detail: 'EADDRNOTAVAIL 2001:db8::1' })
  expect((await dial({ '2001:db8::1': 'now EMFILE' })).result).toMatchObject({ how: 'local' })
  expect((await dial(answers, { sourceAddress: '2001:db8::9' })).result).toMatchObject({ how: 'local' })
})

test('of several failures a fault of the whole machine decides, and else the first one of a server', async () => {
  const answers = { '192.0.2.1': 'ECONNREFUSED', '192.0.2.2': 'EHOSTUNREACH', '192.0.2.3': 'now EMFILE' }
  expect((await dial(answers)).result).toMatchObject({ how: 'local', ip: '192.0.2.3' })
  const theirs = { '192.0.2.0': 'now ENETUNREACH', ...answers, '192.0.2.3': 'ECONNRESET' }
  expect((await dial(theirs)).result).toMatchObject({ how: 'closed', ip: '192.0.2.1' })
})

test('each address is dialled once, in its order, and at most eight of them', async () => {
  const addresses = Array.from({ length: 12 }, (_, i) => `192.0.2.${i}`)
  const answers = Object.fromEntries(addresses.map((ip) => [ip, 'ECONNREFUSED']))
  const { dialled } = await dial(
    answers,
    {},
    addresses.flatMap((ip) => [ip, ip]),
  )
  expect(dialled).toEqual(addresses.slice(0, 8))
})

test('only addresses of the family of the source address are dialled', async () => {
  const answers = { '192.0.2.1': 'open', '2001:db8::1': 'open' }
  for (const [sourceAddress, ip] of [
    ['192.0.2.9', '192.0.2.1'],
    ['2001:db8::9', '2001:db8::1'],
  ] as const) {
    const { result, dialled, options } = await dial(answers, { sourceAddress })
    expect([result.kind, dialled]).toEqual(['connected', [ip]])
    // Without a delay: a command line is one small write.
    expect(options).toMatchObject([{ port: 25, localAddress: sourceAddress, noDelay: true }])
  }
  const { result, dialled } = await dial({ '192.0.2.1': 'open' }, { sourceAddress: '2001:db8::9' })
  expect([result, dialled]).toEqual([
    { kind: 'not_connected', how: 'other_family', detail: 'no address we can reach' },
    [],
  ])
})

test('of addresses dialled one after the other, the first one that answers stays, and no other', async () => {
  const answers = { '192.0.2.1': 'silent', '192.0.2.2': 'silent', '192.0.2.3': 'open', '192.0.2.4': 'open' }
  const { result, dialled, open } = await dial(answers, { raceMs: 5 })
  expect(result).toMatchObject({ kind: 'connected', ip: '192.0.2.3' })
  expect(dialled).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3'])
  const { socket } = result as Extract<typeof result, { kind: 'connected' }>
  expect([open, socket.destroyed]).toEqual([[socket], false])
})

test('an address that has answered stays, and no other one is dialled later', async () => {
  const { result, dialled, open } = await dial(
    { '192.0.2.1': 'open', '192.0.2.2': 'open' },
    { raceMs: 100, connectMs: 100 },
  )
  await quietFor(150)
  expect(dialled).toEqual(['192.0.2.1'])
  expect([result.kind, open.map(({ destroyed }) => destroyed)]).toEqual(['connected', [false]])
})

test.each([
  ['the time of an address', { connectMs: 20 }],
  ['the deadline', { untilMs: performance.now() }],
])('an address that is silent beyond %s is given up, with the time that it was silent', async (_, limit) => {
  const { result, open } = await dial({ '192.0.2.1': 'silent' }, limit)
  expect(result).toEqual({
    kind: 'not_connected',
    how: 'timeout',
    detail: 'silent 192.0.2.1',
    ip: '192.0.2.1',
    silentMs: expect.any(Number),
  })
  if ('connectMs' in limit) expect((result as { silentMs: number }).silentMs).toBeGreaterThan(10)
  expect(open).toEqual([])
})

test('a caller that leaves ends the dialling of all addresses, and nothing is left of it', async () => {
  const caller = new AbortController()
  const dialling = dial({ '192.0.2.1': 'silent', '192.0.2.2': 'silent' }, { signal: caller.signal, raceMs: 1 })
  await vi.waitFor(() => expect(Socket.prototype.connect).toHaveBeenCalledTimes(2), { interval: 1 })
  caller.abort()
  const { result, open } = await dialling
  expect([result, open]).toEqual([{ kind: 'not_connected', how: 'left', detail: 'the caller left' }, []])
  expect(getEventListeners(caller.signal, 'abort')).toEqual([])
  const { dialled } = await dial({ '192.0.2.1': 'open' }, { signal: caller.signal })
  expect(dialled).toEqual([])
})

test('an error after the end of a try changes nothing', async () => {
  const { result, open, dialled } = await dial({
    '192.0.2.1': 'ECONNREFUSED',
    '192.0.2.2': 'open',
    '192.0.2.3': 'open',
  })
  expect(result).toMatchObject({ kind: 'connected', ip: '192.0.2.2' })
  expect(() => open[0]!.emit('error', new Error('later'))).not.toThrow()
  expect(open[0]!.listenerCount('connect')).toBe(0)
  expect(dialled).toEqual(['192.0.2.1', '192.0.2.2'])
})

import { getEventListeners } from 'node:events'
import { Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { dialHost } from '../../../mail/smtp/dial-host.ts'
import { ENGINE_LIMITS } from '../../../mail/smtp/engine-limits.ts'
import { quietFor } from '../../harness/waits.ts'

// The faults that no server of a test can cause: each address answers as the test says, without a network.

afterEach(() => void vi.restoreAllMocks())

/** `silent`, `open`, or the code of an error. */
type Answers = Record<string, string>

function network(answers: Answers) {
  const dialled: string[] = []
  const sockets: Socket[] = []
  const options: object[] = []
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
    const [[{ host, ...more }]] = args as [[{ host: string }]]
    const answer = answers[host]!
    dialled.push(host)
    options.push(more)
    sockets.push(this)
    if (answer === 'open') setImmediate(() => this.emit('connect'))
    else if (answer !== 'silent') this.destroy(Object.assign(new Error(answer), { code: answer }))
    return this
  })
  return { dialled, sockets, options }
}

interface Options {
  sourceAddress?: string
  signal?: AbortSignal
  connectMs?: number
  untilMs?: number
  raceMs?: number
}

async function dial(answers: Answers, { raceMs = 10_000, ...more }: Options = {}, addresses = Object.keys(answers)) {
  const { dialled, sockets, options } = network(answers)
  const result = await dialHost({
    host: { name: 'mx.test', preference: 0, addresses, port: 25 },
    untilMs: performance.now() + 10_000,
    connectMs: 10_000,
    limits: { ...ENGINE_LIMITS, raceMs },
    ...more,
  })
  return { result, dialled, options, open: sockets.filter(({ destroyed }) => !destroyed) }
}

const OURS = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES', 'EPERM']
const THEIRS = ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EHOSTDOWN']

test.each([...OURS.map((code) => [code, 'local'] as const), ...THEIRS.map((code) => [code, 'closed'] as const)])(
  'an address that fails with %s counts as %s: a fault of this machine proves nothing about the server',
  async (code, how) => {
    const { result } = await dial({ '192.0.2.1': code })
    expect(result).toMatchObject({ kind: 'not_connected', how, detail: `${code} 192.0.2.1`, ip: '192.0.2.1' })
  },
)

test('an error without a code is reported by its message', async () => {
  const dialling = dial({ '192.0.2.1': 'silent' })
  const [socket] = vi.mocked(Socket.prototype.connect).mock.contexts as Socket[]
  socket!.emit('error', new Error('odd'))
  expect((await dialling).result).toMatchObject({ how: 'closed', detail: 'odd 192.0.2.1' })
})

test('a machine without IPv6 cannot reach an address, and one that lacks its source address is at fault', async () => {
  const answers = { '2001:db8::1': 'EADDRNOTAVAIL' }
  expect((await dial(answers)).result).toMatchObject({ how: 'closed', detail: 'EADDRNOTAVAIL 2001:db8::1' })
  expect((await dial({ '2001:db8::1': 'EMFILE' })).result).toMatchObject({ how: 'local' })
  expect((await dial(answers, { sourceAddress: '2001:db8::9' })).result).toMatchObject({ how: 'local' })
})

test('of several failures a fault of ours decides, and else the first one', async () => {
  const answers = { '192.0.2.1': 'ECONNREFUSED', '192.0.2.2': 'EHOSTUNREACH', '192.0.2.3': 'EMFILE' }
  expect((await dial(answers)).result).toMatchObject({ how: 'local', ip: '192.0.2.3' })
  expect((await dial({ ...answers, '192.0.2.3': 'ECONNRESET' })).result).toMatchObject({
    how: 'closed',
    ip: '192.0.2.1',
  })
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
  expect([result, dialled]).toEqual([{ kind: 'not_connected', how: 'closed', detail: 'no address we can reach' }, []])
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

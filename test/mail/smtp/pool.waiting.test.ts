import { expect, test, vi } from 'vitest'
import { eventually } from '../../harness/eventually.ts'
import type { Exchanger } from '../../harness/exchanger.ts'
import { stopwatch } from '../../harness/stopwatch.ts'
import { letArrive } from '../../harness/waits.ts'
import { engineWith, exchangerWith, hostOf, outcomeOf, send, siteOf } from './deliver.ts'

vi.setConfig({ maxConcurrency: 16 })

const SLOW = { dot: { after: 60, act: '250 2.0.0 ok' } } as const

function open({ sessions }: Exchanger): number {
  return sessions.filter(({ closed }) => !closed).length
}

function many<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => make(i)))
}

test.concurrent('a site gets at most 20 connections for one caller, and its other messages wait for one of them', async () => {
  const exchanger = await exchangerWith(SLOW)
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  const attempts = await many(50, () => send(engine, site))
  expect(attempts.map(outcomeOf)).toEqual(Array(50).fill('delivered'))
  expect(exchanger.sessions).toHaveLength(20)
})

/** An engine for tests of order, not of time. */
const patientEngine = () => engineWith({ limits: { commandMs: 10_000 } })

test.concurrent('a site gets at most 25 connections for all callers', async () => {
  const exchanger = await exchangerWith(SLOW)
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  const attempts = await many(80, (i) => send(engine, site, { accountId: `account ${i % 4}`, budgetMs: 20_000 }))
  expect(attempts.map(outcomeOf)).toEqual(Array(80).fill('delivered'))
  expect(exchanger.sessions).toHaveLength(25)
})

/** Sends from `slow@...` get no answer to their dot. */
async function exchangerThatStalls(): Promise<Exchanger> {
  const exchanger: Exchanger = await exchangerWith({
    dot: () => (exchanger.messages.at(-1)!.from.startsWith('slow') ? 'stall' : '250 2.0.0 ok'),
  })
  return exchanger
}

test.concurrent('a caller whose messages all hang leaves connections for others', async () => {
  const exchanger = await exchangerThatStalls()
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  const hanging = many(60, () => send(engine, site, { accountId: 'a', sender: 'slow@x.test', budgetMs: 30_000 }))
  await eventually(() => expect(exchanger.messages).toHaveLength(20))
  const attempts = await many(10, () => send(engine, site, { accountId: 'b' }))
  expect(attempts.map(outcomeOf)).toEqual(Array(10).fill('delivered'))
  engine.close()
  await hanging
})

test.concurrent('a provider gets the connections of its row', async () => {
  const exchanger = await exchangerWith(SLOW)
  const site = { key: 'orange', hosts: [hostOf(exchanger, 'smtp-in.orange.fr')] }
  const engine = engineWith()
  await many(9, () => send(engine, site))
  expect(exchanger.sessions).toHaveLength(3)
})

test.concurrent('a send that gets no slot in time is our fault, and ends while there is time left', async () => {
  const exchanger = await exchangerWith({ dot: 'stall' })
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  const busy = many(20, () => send(engine, site))
  await eventually(() => expect(exchanger.messages).toHaveLength(20))
  const startedAt = performance.now()
  const watch = stopwatch()
  const attempt = await send(engine, site, { budgetMs: 1_800 })
  expect(attempt).toMatchObject({
    outcome: { kind: 'our_fault', cause: expect.stringContaining('became free') },
    tls: null,
  })
  expect(performance.now() - startedAt).toBeGreaterThan(590)
  // Less than the budget: the caller gets a response within it.
  expect(watch.ms()).toBeLessThan(1_780)
  engine.close()
  await busy
})

test.concurrent('a caller may give up while it waits for a slot, and the slot goes to the next one', async () => {
  const exchanger = await exchangerWith(SLOW)
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  const busy = many(20, () => send(engine, site))
  const caller = new AbortController()
  const left = send(engine, site, { signal: caller.signal })
  const next = send(engine, site)
  await letArrive(10)
  caller.abort()
  expect(await left).toMatchObject({ outcome: { kind: 'our_fault', cause: 'the caller left' } })
  expect(outcomeOf(await next)).toBe('delivered')
  expect((await busy).map(outcomeOf)).toEqual(Array(20).fill('delivered'))
  expect(exchanger.messages).toHaveLength(21)
})

test.concurrent('a send that waits for a slot when the engine is closed ends as draining', async () => {
  const exchanger = await exchangerWith(SLOW)
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  const busy = many(20, () => send(engine, site))
  const waiting = send(engine, site)
  await letArrive(10)
  engine.close()
  expect(await waiting).toMatchObject({ outcome: { kind: 'our_fault', cause: 'draining' } })
  expect((await busy).map(outcomeOf)).toEqual(Array(20).fill('delivered'))
})

test.concurrent('a slot is freed whatever happened on it', async () => {
  const faults = ['close', 'reset', '421 4.3.2 bye', { raw: 'oops\r\n' }, '550 5.1.1 no', undefined] as const
  const exchanger = await exchangerWith({ rcpt: (_, times) => faults[times % faults.length] })
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  for (let round = 0; round < 4; round++) await many(40, () => send(engine, site))
  exchanger.script = {}
  const opened = exchanger.sessions.length
  const attempts = await many(40, () => send(engine, site))
  expect(attempts.map(outcomeOf)).toEqual(Array(40).fill('delivered'))
  expect(exchanger.sessions.length).toBeLessThanOrEqual(opened + 20)
  expect(open(exchanger)).toBeLessThanOrEqual(20)
})

test.concurrent('domains with the same exchangers share connections', async () => {
  const exchanger = await exchangerWith()
  const engine = engineWith()
  for (const i of [1, 2, 3]) await send(engine, { key: 'shared', hosts: [hostOf(exchanger, `mx${i}`)] })
  expect(exchanger.sessions).toHaveLength(1)
})

test.concurrent('a connection carries 100 messages, then says QUIT and another is opened', async () => {
  const exchanger = await exchangerWith()
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  for (let i = 0; i < 101; i++) await send(engine, site)
  expect(messagesOf(exchanger)).toEqual([100, 1])
  expect(exchanger.sessions[0]!.commands.at(-1)).toBe('QUIT')
  expect(exchanger.sessions[0]!.closed).toBe(true)
})

const messagesOf = ({ sessions }: Exchanger) =>
  sessions.map(({ commands }) => commands.filter((line) => line === '.').length)

test.concurrent('the send after the last message of a connection finds the next one open', async () => {
  // The next one is opened meanwhile.
  const exchanger = await exchangerWith({ dot: { after: 300, act: '250 2.0.0 ok' } })
  const [engine, site] = [engineWith(), { ...siteOf(exchanger), limits: { connections: 2, messages: 5 } }]
  const reused: unknown[] = []
  for (let i = 0; i < 11; i++) reused.push((await send(engine, site)).reused)
  expect(reused).toEqual([undefined, ...Array(10).fill(true)])
  expect(messagesOf(exchanger)).toEqual([5, 5, 1])
})

test.concurrent('no connection is opened ahead where another one is idle, or the site gets no more', async () => {
  const exchanger = await exchangerWith(SLOW)
  const engine = engineWith()
  const two = { ...siteOf(exchanger), limits: { connections: 3, messages: 3 } }
  await many(2, () => send(engine, two))
  await send(engine, two)
  await send(engine, two)
  expect(messagesOf(exchanger)).toEqual([1, 3])
  const one = { ...siteOf(exchanger), key: 'one', limits: { connections: 1, messages: 2 } }
  for (let i = 0; i < 5; i++) await send(engine, one)
  expect(messagesOf(exchanger)).toEqual([1, 3, 2, 2, 1])
})

test.concurrent('a connection that cannot be opened ahead fails no send', async () => {
  const exchanger = await exchangerWith({ ...SLOW, greeting: (_line, times) => (times === 1 ? '554 no' : undefined) })
  const [engine, site] = [engineWith(), { ...siteOf(exchanger), limits: { connections: 2, messages: 2 } }]
  const attempts: unknown[] = []
  for (let i = 0; i < 3; i++) attempts.push(outcomeOf(await send(engine, site)))
  expect(attempts).toEqual(Array(3).fill('delivered'))
  expect(messagesOf(exchanger)).toEqual([2, 0, 1])
})

test.concurrent('an idle connection ends with QUIT after its timeout', async () => {
  const exchanger = await exchangerWith()
  await send(engineWith({ limits: { idleMs: 2_000 } }), siteOf(exchanger))
  expect(open(exchanger)).toBe(1)
  await eventually(() => expect(open(exchanger)).toBe(0))
  expect(exchanger.sessions[0]!.commands.at(-1)).toBe('QUIT')
})

test.concurrent.each([
  ['closed', 'close'],
  ['reset', 'reset'],
  ['given notice', '421 4.4.2 idle too long'],
  ['spoken to', '250 hello?'],
] as const)('an idle connection that was %s by the server is not used again', async (_, act) => {
  const exchanger = await exchangerWith({
    dot: (_line, times) => (times === 0 ? { raw: '250 2.0.0 ok\r\n', act: { after: 30, act } } : undefined),
  })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  expect(outcomeOf(await send(engine, site))).toBe('delivered')
  await eventually(() => expect(exchanger.sessions[0]!.closed).toBe(true))
  expect(outcomeOf(await send(engine, site))).toBe('delivered')
  expect(exchanger.sessions.map(({ commands }) => commands.filter((line) => line.startsWith('MAIL')).length)).toEqual([
    1, 1,
  ])
})

test.concurrent.each([
  ['closes', 'close'],
  ['resets', 'reset'],
  ['says 421', '421 4.4.2 idle too long'],
  ['says garbage', { raw: 'oops\r\n' }],
  ['is silent', 'stall'],
] as const)(
  'a reused connection that %s instead of answering MAIL is replaced once, at the same host',
  async (_, act) => {
    const exchanger = await exchangerWith({ mail: (_line, times) => (times === 1 ? act : undefined) })
    const [engine, site] = [engineWith(), siteOf(exchanger)]
    await send(engine, site)
    expect(outcomeOf(await send(engine, site))).toBe('delivered')
    expect([exchanger.sessions.length, exchanger.messages.length]).toEqual([2, 2])
  },
)

test.concurrent('a new connection that dies at MAIL is not replaced', async () => {
  const exchanger = await exchangerWith({ mail: (_line, times) => (times > 0 ? 'close' : undefined) })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  await send(engine, site)
  expect(outcomeOf(await send(engine, site))).toBe('connection_timeout')
  expect(exchanger.sessions).toHaveLength(2)
})

test.concurrent('a reused connection that dies at RCPT leads to the other host, not to the same one again', async () => {
  const first = await exchangerWith({ rcpt: (_line, times) => (times > 0 ? 'close' : undefined) })
  const second = await exchangerWith()
  const [engine, site] = [engineWith(), siteOf(first, second)]
  await send(engine, site)
  expect(await send(engine, site)).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx2.example.test' })
  expect([first.sessions.length, second.sessions.length]).toEqual([1, 1])
})

test.concurrent.each([
  ['421', 'MAIL', '421 4.3.2 later', 'temporary_failure'],
  ['421', 'RCPT', '421 4.3.2 later', 'temporary_failure'],
  ['421', 'DATA', '421 4.3.2 later', 'temporary_failure'],
  ['421', 'dot', '421 4.3.2 later', 'temporary_failure'],
  ['neither yes nor no', 'dot', '354 more?', 'in_doubt'],
])('a connection on which %s was said to the %s is not used again', async (_, verb, reply, expected) => {
  const exchanger = await exchangerWith({
    [verb.toLowerCase()]: (_line: string, times: number) => (times === 0 ? reply : undefined),
  })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  expect([outcomeOf(await send(engine, site)), outcomeOf(await send(engine, site))]).toEqual([expected, 'delivered'])
  expect(exchanger.sessions).toHaveLength(2)
})

test.concurrent('a connection whose dot is in doubt holds no slot', async () => {
  const exchanger = await exchangerWith({ dot: (_line, times) => (times < 20 ? 'stall' : undefined) })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  const doubtful = await many(20, () => send(engine, site, { budgetMs: 3_000 }))
  expect(doubtful.map(outcomeOf)).toEqual(Array(20).fill('in_doubt'))
  expect(outcomeOf(await send(engine, site))).toBe('delivered')
})

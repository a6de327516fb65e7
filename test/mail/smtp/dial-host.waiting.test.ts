import { expect, test } from 'vitest'
import type { Site } from '../../../mail/smtp/attempt.ts'
import { eventually } from '../../harness/eventually.ts'
import { startSilentPort } from '../../harness/silent-port.ts'
import { stopwatch } from '../../harness/stopwatch.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { letArrive } from '../../harness/waits.ts'
import { closedPort, engineWith, exchangerWith, hostOf, outcomeOf, send, siteOf } from './deliver.ts'

const silent = untilEnd(await startSilentPort())

test('a silent address is given up after its timeout, and the next host is tried', async () => {
  const engine = engineWith({ limits: { connectMs: 1_000 } })
  const startedAt = performance.now()
  const watch = stopwatch()
  const lone = await send(engine, siteOf(silent))
  expect(lone).toMatchObject({ phase: 'connect', outcome: { reason: 'connection_timeout' }, ip: '127.0.0.1' })
  expect(lone.detail).toContain('silent')
  expect(performance.now() - startedAt).toBeGreaterThan(990)
  // One timeout of 1 s, not two.
  expect(watch.ms()).toBeLessThan(1_900)
  const second = await exchangerWith()
  expect(await send(engine, siteOf(silent, second))).toMatchObject({
    outcome: { kind: 'delivered' },
    mx: 'mx2.example.test',
  })
})

test('a silent address is given up at the deadline of the dot, too', async () => {
  const startedAt = performance.now()
  const watch = stopwatch()
  const attempt = await send(engineWith({ limits: { connectMs: 10_000 } }), siteOf(silent, silent), { budgetMs: 2_000 })
  expect(outcomeOf(attempt)).toBe('connection_timeout')
  expect(performance.now() - startedAt).toBeGreaterThan(990)
  // The dot may be sent for half of the 2 s. Two silent addresses do not wait one after the other.
  expect(watch.ms()).toBeLessThan(1_900)
})

test('two addresses are raced: the silent one costs the other its head start, no more', async () => {
  const exchanger = await exchangerWith({}, { port: silent.port }, '127.0.0.2')
  const host = { ...hostOf(exchanger), addresses: ['127.0.0.1', '127.0.0.2'] }
  const engine = engineWith({ limits: { connectMs: 5_000, raceMs: 100 } })
  const watch = stopwatch()
  const dialling = () => process.getActiveResourcesInfo().filter((name) => name === 'ConnectWrap').length
  const attempt = await send(engine, { key: 'race', hosts: [host] }, { budgetMs: 20_000 })
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, ip: '127.0.0.2' })
  const connectedMs = watch.ms()
  // This connection keeps the silent port silent.
  await eventually(() => expect(dialling()).toBe(1))
  expect(attempt.durationMs).toBeGreaterThan(95)
  // The head start is 100 ms, the timeout of the silent address 5 s.
  expect(connectedMs).toBeLessThan(2_000)
})

test('once an address has answered, the other one is not dialled', async () => {
  const first = await exchangerWith({ dot: { after: 800, act: '250 2.0.0 ok' } })
  const second = await exchangerWith({}, { port: first.port }, '127.0.0.2')
  const host = { ...hostOf(first), addresses: ['127.0.0.1', '127.0.0.2'] }
  const attempt = await send(engineWith({ limits: { raceMs: 500 } }), { key: 'race', hosts: [host] })
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, ip: '127.0.0.1' })
  expect(second.sessions).toEqual([])
})

test('an address that refuses costs the other one no time', async () => {
  const exchanger = await exchangerWith({}, { port: (await closedPort()).port }, '127.0.0.2')
  const host = { ...hostOf(exchanger), addresses: ['127.0.0.1', '127.0.0.2'] }
  const engine = engineWith({ limits: { raceMs: 5_000 } })
  const watch = stopwatch()
  const attempt = await send(engine, { key: 'race', hosts: [host] }, { budgetMs: 20_000 })
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, ip: '127.0.0.2' })
  // Less than the head start, 5 s.
  expect(watch.ms()).toBeLessThan(2_000)
})

test('an address listed twice is dialled once', async () => {
  const exchanger = await exchangerWith({ greeting: { after: 150, act: '220 mx.test' } })
  const host = { ...hostOf(exchanger), addresses: ['127.0.0.1', '127.0.0.1'] }
  expect(outcomeOf(await send(engineWith(), { key: 'twice', hosts: [host] }))).toBe('delivered')
  expect(exchanger.sessions).toHaveLength(1)
})

test('a silent exchanger costs its time once, and is asked last for a while', async () => {
  const engine = engineWith({ limits: { connectMs: 800, silentMs: 60_000 } })
  const alive = await exchangerWith()
  const first = await send(engine, siteOf(silent, alive))
  expect(first).toMatchObject({ outcome: { kind: 'delivered' }, tried: [{ mx: 'mx1.example.test', phase: 'connect' }] })
  expect(first.durationMs).toBeGreaterThan(790)
  const second = await send(engine, { ...siteOf(silent, alive), key: 'with other connections' })
  expect(second).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx2.example.test' })
  expect(second.tried).toBeUndefined()
  // It is asked all the same, where no other one takes the message.
  const third = await send(engine, { ...siteOf(silent, await closedPort()), key: 'without it' }, { budgetMs: 4_000 })
  expect(third.tried?.concat({ mx: third.mx!, phase: 'connect', detail: '' }).map(({ mx }) => mx)).toEqual([
    'mx2.example.test',
    'mx1.example.test',
  ])
})

test('an exchanger behind two silent ones is looked up while there is time for a dot, and goes before them for a while', async () => {
  const engine = engineWith({ limits: { connectMs: 1_500 } })
  const alive = await exchangerWith()
  const asked: { accountId?: string; untilMs?: number }[] = []
  const further: Site['further'] = async (request) => {
    asked.push(request)
    return { hosts: [hostOf(alive, 'mx3.example.test')] }
  }
  const site = (key: string) => ({ ...siteOf(silent, silent), key, further })
  const more = { accountId: 'account', budgetMs: 10_000 }
  const dotMs = performance.now() + 5_000
  expect(await send(engine, site('first'), more)).toMatchObject({
    outcome: { kind: 'delivered' },
    mx: 'mx3.example.test',
  })
  expect(asked).toEqual([expect.objectContaining({ accountId: 'account' })])
  expect(asked[0]!.untilMs).toBeGreaterThanOrEqual(dotMs)
  const second = await send(engine, site('second'), more)
  expect(second).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx3.example.test' })
  expect(second.tried).toBeUndefined()
})

test('after two silent exchangers each further one has less time', async () => {
  const engine = engineWith({ limits: { connectMs: 600, hastyMs: 100 } })
  const alive = await exchangerWith()
  const attempt = await send(engine, siteOf(silent, silent, silent, silent, alive))
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx5.example.test' })
  expect(attempt.durationMs).toBeGreaterThan(2 * 600 + 2 * 100 - 20)
  // Four of them would be silent for 2.4 s.
  expect(attempt.durationMs).toBeLessThan(2_300)
})

test('when the caller gives up while a silent address is dialled, the send ends at once as our fault', async () => {
  const caller = new AbortController()
  const engine = engineWith({ limits: { connectMs: 5_000 } })
  const running = send(engine, siteOf(silent, silent), { signal: caller.signal, budgetMs: 20_000 })
  await letArrive(50)
  caller.abort()
  expect(await running).toMatchObject({ outcome: { kind: 'our_fault', cause: 'the caller left' } })
})

test('mail leaves from the configured address, and each address has its own pool', async () => {
  const exchanger = await exchangerWith()
  let dice = 0
  const engine = engineWith({ sourceAddresses: ['127.0.0.5', '127.0.0.6', '::1'], random: () => dice })
  const site = siteOf(exchanger)
  await send(engine, site)
  dice = 0.9
  await send(engine, site)
  dice = 0
  await send(engine, site)
  expect(exchanger.sessions.map(({ from }) => from)).toEqual(['127.0.0.5', '127.0.0.6'])
})

test('a host without an address of our family is unreachable, although the system could reach it', async () => {
  const exchanger = await exchangerWith({}, {}, '::1')
  const attempt = await send(engineWith({ sourceAddresses: ['127.0.0.1'] }), siteOf(exchanger))
  expect(attempt).toMatchObject({ phase: 'connect', outcome: { reason: 'connection_timeout' } })
  expect(attempt.detail).toBe('no address we can reach')
  expect(exchanger.sessions).toEqual([])
  expect(outcomeOf(await send(engineWith(), siteOf(exchanger)))).toBe('delivered')
})

test('a source address that is not ours is our fault, and no other host is tried', async () => {
  const [first, second] = [await exchangerWith(), await exchangerWith()]
  const attempt = await send(engineWith({ sourceAddresses: ['192.0.2.7'] }), siteOf(first, second))
  expect(attempt).toMatchObject({
    outcome: { kind: 'our_fault', cause: expect.stringContaining('EADDRNOTAVAIL') },
    mx: 'mx1.example.test',
  })
})

import { expect, test } from 'vitest'
import { isAtLeast, type SmtpAttempt, TIMED_PHASES } from '../../../mail/smtp/attempt.ts'
import { CERTIFICATE } from '../../harness/certificates.ts'
import { eventually } from '../../harness/eventually.ts'
import { closedPort, deliveryTo, engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

test('what a refusal says about an address has an order, from beyond doubt to nothing', () => {
  const order = ['unknown', 'status', 'refused', 'full', undefined] as const
  for (const [i, kind] of order.entries())
    for (const [j, other] of order.entries())
      expect([kind, other, isAtLeast(kind, other)]).toEqual([kind, other, i <= j])
})

const OPENING = ['connect', 'greeting', 'ehlo']
const ENVELOPE = ['mail', 'rcpt', 'data', 'dot']

const phasesOf = ({ timings }: SmtpAttempt) => TIMED_PHASES.filter((phase) => timings[phase] !== undefined).sort()
const sumOf = ({ timings }: SmtpAttempt) => TIMED_PHASES.reduce((sum, phase) => sum + (timings[phase] ?? 0), 0)

// Timings

test('the time of every phase is measured, and their sum is within the duration', async () => {
  const attempt = await send(engineWith(), siteOf(await exchangerWith()))
  expect(phasesOf(attempt)).toEqual([...OPENING, ...ENVELOPE].sort())
  expect(sumOf(attempt)).toBeLessThanOrEqual(attempt.durationMs)
  expect(attempt).not.toHaveProperty('tried')
  expect(attempt.reused).toBeUndefined()
})

test('STARTTLS and its handshake are a phase of their own', async () => {
  const exchanger = await exchangerWith({ ehlo: '250-mx.test\r\n250 STARTTLS' }, CERTIFICATE)
  expect(phasesOf(await send(engineWith(), siteOf(exchanger)))).toContain('starttls')
})

test.concurrent.each([
  ['greeting', { greeting: { after: 500, act: '220 mx.test' } }],
  ['ehlo', { ehlo: { after: 500, act: '250 mx.test' } }],
  ['mail', { mail: { after: 500, act: '250 ok' } }],
  ['rcpt', { rcpt: { after: 500, act: '250 ok' } }],
  ['data', { data: { after: 500, act: '354 go ahead' } }],
  ['dot', { dot: { after: 500, act: '250 queued' } }],
])('a server that is slow at %s has its time there', async (phase, script) => {
  const { timings } = await send(engineWith(), siteOf(await exchangerWith(script)))
  expect(timings[phase as 'greeting']).toBeGreaterThan(250)
  const [longest] = Object.entries(timings).toSorted(([, a], [, b]) => b - a)
  expect(longest![0]).toBe(phase)
})

test('a phase that the send did not reach is absent, and the one that ended it is there', async () => {
  const refused = await send(engineWith(), siteOf(await exchangerWith({ mail: '550 5.7.1 no' })))
  expect(phasesOf(refused)).toEqual([...OPENING, 'mail'].sort())
  const closed = await send(engineWith(), siteOf(await exchangerWith({ greeting: 'close' })))
  expect(phasesOf(closed)).toEqual(['connect', 'greeting'])
  expect(phasesOf(await send(engineWith(), siteOf(await closedPort())))).toEqual(['connect'])
})

test('each recipient has the time of its own RCPT, and a refused one nothing after it', async () => {
  const exchanger = await exchangerWith({
    ehlo: '250 mx.test',
    rcpt: (line) =>
      line.includes('<slow@') ? { after: 500, act: '250 ok' } : line.includes('<no@') ? '550 no' : '250',
  })
  const site = siteOf(exchanger)
  const recipients = ['quick', 'slow', 'no'].map((name) => ({ address: `${name}@example.test`, site }))
  const [quick, slow, no] = await engineWith().deliver(deliveryTo(site, { recipients }))
  expect(phasesOf(no!)).toEqual([...OPENING, 'mail', 'rcpt'].sort())
  expect(phasesOf(quick!)).toEqual(phasesOf(slow!))
  expect(slow!.timings.rcpt).toBeGreaterThan(450)
  expect(quick!.timings.rcpt).toBeLessThan(slow!.timings.rcpt!)
  expect(quick!.timings.dot).toBe(slow!.timings.dot)
})

// Kept connections

test('a message over a kept connection says so, and has no phase of opening one', async () => {
  const [engine, site] = [engineWith(), siteOf(await exchangerWith())]
  await send(engine, site)
  const attempt = await send(engine, site)
  expect(attempt.reused).toBe(true)
  expect(phasesOf(attempt)).toEqual(ENVELOPE.toSorted())
})

test('a kept connection that turns out to be closed is a try that did not decide', async () => {
  const exchanger = await exchangerWith({ mail: (_, times) => (times === 1 ? '421 4.3.2 bye' : undefined) })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  await send(engine, site)
  const attempt = await send(engine, site)
  expect(outcomeOf(attempt)).toBe('delivered')
  expect(attempt.reused).toBeUndefined()
  expect(attempt.tried).toEqual([
    { mx: 'mx1.example.test', ip: '127.0.0.1', phase: 'mail', detail: 'on a kept connection: 421 4.3.2 bye' },
  ])
})

// Hosts that were tried before

test('the first of two hosts that refuses is listed with its reply, and the second decides', async () => {
  const refusing = await exchangerWith({ greeting: '554-5.7.1 no mail\r\n554 5.7.1 from you' })
  const attempt = await send(engineWith(), siteOf(refusing, await exchangerWith()))
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx2.example.test' })
  expect(attempt.tried).toEqual([
    { mx: 'mx1.example.test', ip: '127.0.0.1', phase: 'greeting', detail: '554 5.7.1 no mail from you' },
  ])
})

test('the first of two hosts that cannot be reached is listed with the fault, and its time is in the sum', async () => {
  const silent = await exchangerWith({ greeting: 'stall' })
  const engine = engineWith({ limits: { commandMs: 100 } })
  const attempt = await send(engine, siteOf(silent, await exchangerWith()))
  expect(attempt.tried).toEqual([{ mx: 'mx1.example.test', ip: '127.0.0.1', phase: 'greeting', detail: 'out of time' }])
  expect(attempt.timings.greeting).toBeGreaterThan(95)
  const next = await send(engineWith(), siteOf(await closedPort(), await exchangerWith()))
  expect(next.tried).toEqual([
    { mx: 'mx1.example.test', ip: '127.0.0.1', phase: 'connect', detail: 'ECONNREFUSED 127.0.0.1' },
  ])
})

test('where the reply of the first host decides because the second is silent, the second is listed', async () => {
  const attempt = await send(engineWith(), siteOf(await exchangerWith({ greeting: '554 no' }), await closedPort()))
  expect(attempt).toMatchObject({ mx: 'mx1.example.test', reply: { code: 554 } })
  expect(attempt.tried).toMatchObject([{ mx: 'mx2.example.test', phase: 'connect' }])
})

test('a recipient whose outcome the first host decided has no other try, and the others have that one', async () => {
  const site = siteOf(
    await exchangerWith({ ehlo: '250 mx.test', rcpt: (line) => (line.includes('<no@') ? '550 no' : 'close') }),
    await exchangerWith(),
  )
  const recipients = ['no', 'ann'].map((name) => ({ address: `${name}@example.test`, site }))
  const [no, ann] = await engineWith().deliver(deliveryTo(site, { recipients }))
  expect(no).not.toHaveProperty('tried')
  // Over two connections, because the first host closes when it refuses.
  expect(ann!.tried).toMatchObject([
    { mx: 'mx1.example.test', phase: 'rcpt' },
    { mx: 'mx1.example.test', phase: 'rcpt' },
  ])
  expect(ann!.mx).toBe('mx2.example.test')
})

test('the words of a host that was tried are clean and short', async () => {
  const hostile = await exchangerWith({
    greeting: { raw: Buffer.from(`554 \x1b[31m\u202e\0${'x'.repeat(5_000)}\r\n`) },
  })
  const attempt = await send(engineWith(), siteOf(hostile, await exchangerWith()))
  const { detail } = attempt.tried![0]!
  expect(detail).toMatch(/^554 [ -~\uFFFD]+$/)
  expect(Buffer.byteLength(detail)).toBeLessThan(1_100)
})

test('at most three tries are listed: a kept connection, and two hosts with one repeat', async () => {
  const sessions = { value: 0 }
  const first = await exchangerWith({ greeting: () => (sessions.value++ === 0 ? undefined : 'close') })
  const second = await exchangerWith({ ehlo: { raw: 'nonsense\r\n' } })
  const [engine, site] = [engineWith(), siteOf(first, second)]
  await send(engine, site)
  await eventually(() => expect(first.messages).toHaveLength(1))
  first.script.mail = 'close'
  const attempt = await send(engine, site)
  expect([attempt.mx, ...attempt.tried!.map(({ mx, phase }) => `${mx} ${phase}`)]).toEqual([
    'mx2.example.test',
    'mx1.example.test mail',
    'mx1.example.test greeting',
    'mx2.example.test ehlo',
  ])
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Script } from '../../harness/smtp-script.ts'
import { closedPort, deliveryTo, engineWith, exchangerWith, hostOf, outcomeOf, send, siteOf } from './deliver.ts'

// RFC 5321 5.1: which exchanger is asked next.

/** Ways to be ill, which another exchanger of the site need not share. */
const ILL: Record<string, Script | 'closed'> = {
  'refuses the connection': 'closed',
  'closes before its greeting': { greeting: 'close' },
  'greets with 421': { greeting: '421 4.3.2 closing' },
  'greets with 554': { greeting: '554 5.3.2 no service here' },
  'has no storage at MAIL': { mail: '452 4.3.1 Insufficient system storage' },
  'shuts down at MAIL': { mail: '421 4.3.2 Service shutting down' },
  'has a fault at RCPT': { rcpt: '451 4.3.0 Temporary lookup failure' },
  'cannot connect to its own server at RCPT': { rcpt: '450 4.4.1 connection timed out' },
  'shuts down at RCPT': { rcpt: '421 Service not available, closing transmission channel' },
  'is full at DATA': { data: '452 4.3.1 disk full' },
  'closes at DATA': { data: 'close' },
  'is full at the dot': { dot: '452 4.3.1 Insufficient system storage' },
  'has a fault at the dot': { dot: '451 4.3.0 queue file write error' },
  'shuts down at the dot': { dot: '421 4.3.2 Service shutting down' },
}

const placeOf = async (name: string) => {
  const script = ILL[name]!
  return script === 'closed' ? closedPort() : exchangerWith(script)
}

test('a message is delivered while one of five exchangers takes it, whatever the others do', async () => {
  const names = fc.array(fc.constantFrom(...Object.keys(ILL)), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(names, async (names) => {
      const ill = await Promise.all(names.map(placeOf))
      const alive = await exchangerWith()
      const attempt = await send(engineWith(), siteOf(...ill, alive), { budgetMs: 20_000 })
      expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: `mx${names.length + 1}.example.test` })
      expect(attempt.tried?.map(({ mx }) => mx)).toEqual(names.map((_, i) => `mx${i + 1}.example.test`))
      expect(alive.messages).toHaveLength(1)
    }),
    { numRuns: 25 },
  )
})

test('where none takes it, the last one that replied decides', async () => {
  const [first, second] = [
    await exchangerWith({ mail: '452 4.3.1 Insufficient system storage' }),
    await exchangerWith({ rcpt: '451 4.3.0 Lookup failure' }),
  ]
  expect(await send(engineWith(), siteOf(first, second, await closedPort()))).toMatchObject({
    phase: 'rcpt',
    outcome: { reason: 'temporary_failure' },
    reply: { code: 451 },
    mx: 'mx2.example.test',
  })
})

test('a session in which its server was in trouble has no later message: a new one may be well', async () => {
  for (const [name, script] of Object.entries(ILL)) {
    if (script === 'closed') continue
    const exchanger = await exchangerWith()
    // As postscreen, which answers so until the client has come again.
    exchanger.script = Object.fromEntries(
      Object.entries(script).map(([verb, act]) => [verb, () => (exchanger.sessions.length === 1 ? act : undefined)]),
    )
    const engine = engineWith()
    const first = await send(engine, siteOf(exchanger))
    if (first.outcome.kind === 'delivered') continue
    expect(await send(engine, siteOf(exchanger)), name).toMatchObject({ outcome: { kind: 'delivered' } })
    expect(exchanger.sessions, name).toHaveLength(2)
  }
})

test.each([
  { rcpt: '450 4.2.0 Greylisted, come back later' },
  { rcpt: '451 4.7.1 Greylisting in action' },
  { rcpt: '421 4.7.0 Greylisted, try again later' },
  { rcpt: '451 4.7.0 too many messages from your IP, rate limited' },
  { mail: '451 4.7.1 your IP is on our block list' },
  { rcpt: '452 4.2.2 Mailbox full' },
  { rcpt: '450 4.1.1 user unknown, for now' },
  { rcpt: '550 5.3.0 no' },
  { rcpt: '550 5.1.1 User unknown' },
  { data: '554 5.7.1 Spam' },
  { dot: '451 4.7.1 Greylisted' },
  { dot: '451 4.7.0 too many messages from your IP, rate limited' },
  { dot: '554 5.3.0 no' },
])('a refusal that is not about the server itself is no reason to ask the next one: %j', async (script) => {
  const [first, second] = [await exchangerWith(script), await exchangerWith()]
  const attempt = await send(engineWith(), siteOf(first, second))
  expect(attempt).toMatchObject({ outcome: { kind: 'bounced' }, mx: 'mx1.example.test' })
  expect(second.sessions).toEqual([])
})

test('the recipients that a server in trouble accepted stay there, and the others go to the next one', async () => {
  const first = await exchangerWith({ rcpt: (line) => (line.includes('bob') ? '451 4.3.0 Lookup failure' : undefined) })
  const second = await exchangerWith()
  const engine = engineWith()
  const site = siteOf(first, second)
  const recipients = ['ann', 'bob', 'cy'].map((name) => ({ address: `${name}@example.test`, site }))
  const attempts = await engine.deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(({ outcome, mx }) => [outcome.kind, mx])).toEqual([
    ['delivered', 'mx1.example.test'],
    ['delivered', 'mx2.example.test'],
    ['delivered', 'mx1.example.test'],
  ])
  expect(second.messages.map(({ to }) => to)).toEqual([['bob@example.test']])
})

test('a dot that a server in trouble refused has no marker any more, and the next exchanger has its own', async () => {
  const first = await exchangerWith({ dot: '452 4.3.1 Insufficient system storage' })
  const second = await exchangerWith({ rcpt: (line) => (line.includes('bob') ? undefined : '550 5.1.1 User unknown') })
  const site = siteOf(first, second)
  const recipients = ['ann', 'bob'].map((name) => ({ address: `${name}@example.test`, site }))
  const markers: number[][][] = []
  const beforeDot = async (marked: number[], takenBack: number[]) => {
    markers.push([marked, takenBack])
    return true
  }
  const attempts = await engineWith().deliver(deliveryTo(site, { recipients, beforeDot }))
  expect(attempts.map(({ outcome, mx }) => [outcome.kind, mx])).toEqual([
    ['bounced', 'mx2.example.test'],
    ['delivered', 'mx2.example.test'],
  ])
  expect(markers.map(([marked]) => marked)).toEqual([[0, 1], [1]])
})

test('of an exchanger with many addresses, the one that is alive is found', async () => {
  const alive = await exchangerWith()
  const addresses = ['127.0.0.7', '127.0.0.8', '127.0.0.9', '127.0.0.1']
  expect(outcomeOf(await send(engineWith(), { key: 'many', hosts: [{ ...hostOf(alive), addresses }] }))).toBe(
    'delivered',
  )
})

test('exchangers behind the first two are looked up when those have not taken the message', async () => {
  const alive = await exchangerWith()
  let asked = 0
  const further = async () => {
    asked++
    return { hosts: [hostOf(alive, 'mx3.example.test')] }
  }
  const engine = engineWith()
  const ill = { ...siteOf(await closedPort(), await exchangerWith({ mail: '421 4.3.2 shutting down' })), further }
  expect(await send(engine, ill)).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx3.example.test' })
  expect(asked).toBe(1)
  for (const script of [{}, { rcpt: '550 5.1.1 User unknown' }, { dot: '550 5.7.1 Spam' }, { rcpt: 'not a reply' }])
    await send(engine, {
      ...siteOf(await exchangerWith(script), await exchangerWith(script)),
      key: JSON.stringify(script),
      further,
    })
  expect(asked).toBe(1)
})

// A connection that the server has forgotten.

test.each([
  '500 5.5.1 what?',
  '501 5.5.4 syntax',
  '502 no',
  '503 5.5.1 Sender already given',
  '503 bad sequence',
  '530 5.7.0 log in',
  '550 5.5.1 no',
])('a kept connection whose MAIL is answered "%s" is followed by one fresh one', async (reply) => {
  let mails = 0
  const exchanger = await exchangerWith({ mail: () => (++mails === 2 ? reply : undefined) })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  expect(outcomeOf(await send(engine, site))).toBe('delivered')
  const second = await send(engine, site)
  expect(second).toMatchObject({
    outcome: { kind: 'delivered' },
    tried: [{ phase: 'mail', detail: expect.stringMatching(/^on a kept connection: 5/) }],
  })
  expect(exchanger.sessions).toHaveLength(2)
})

test.each(['500 5.5.1 what?', '503 bad sequence', '530 5.7.0 log in'])(
  'a fresh connection whose MAIL is answered "%s" decides',
  async (reply) => {
    const exchanger = await exchangerWith({ mail: reply })
    expect(await send(engineWith(), siteOf(exchanger))).toMatchObject({ phase: 'mail', outcome: { kind: 'bounced' } })
    expect(exchanger.sessions).toHaveLength(1)
  },
)

// Old and odd servers.

test.each([500, 501, 502, 504, 550])(
  'a server that answers EHLO with %i is greeted with HELO, and TLS was never offered',
  async (code) => {
    const exchanger = await exchangerWith({ ehlo: `${code} what?` })
    expect(await send(engineWith(), siteOf(exchanger))).toMatchObject({
      outcome: { kind: 'delivered' },
      tls: null,
      tried: [
        { mx: 'mx1.example.test', ip: '127.0.0.1', phase: 'ehlo', detail: `${code} what?: TLS was never offered` },
      ],
    })
    expect(exchanger.sessions).toHaveLength(1)
  },
)

test.each([521, 554])('a server that answers EHLO with %i takes no mail', async (code) => {
  const exchanger = await exchangerWith({ ehlo: `${code} no` })
  expect(await send(engineWith(), siteOf(exchanger))).toMatchObject({ phase: 'ehlo', reply: { code } })
})

test('where TLS is demanded, a server that knows HELO only gets nothing', async () => {
  const exchanger = await exchangerWith({ ehlo: '502 what?' })
  const site = { ...siteOf(exchanger), tlsDemandedBy: 'MTA-STS' as const }
  expect(await send(engineWith(), site)).toMatchObject({ outcome: { reason: 'policy_block' } })
  expect(exchanger.messages).toEqual([])
})

test('a greeting and a reply to EHLO may have any number of lines', async () => {
  const lines = (code: number) => `${code}-mx.test\r\n${`${code}-X-LINE\r\n`.repeat(1_000)}${code} 8BITMIME`
  const exchanger = await exchangerWith({ greeting: lines(220), ehlo: lines(250) })
  expect(outcomeOf(await send(engineWith(), siteOf(exchanger)))).toBe('delivered')
})

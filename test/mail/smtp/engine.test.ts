import { expect, test } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import type { Site } from '../../../mail/smtp/attempt.ts'
import { a, mx, startDns } from '../../harness/dns.ts'
import { eventually } from '../../harness/eventually.ts'
import type { Exchanger } from '../../harness/exchanger.ts'
import { quietFor, takes } from '../../harness/waits.ts'
import { closedPort, deliveryTo, engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

const NO_PIPELINING = { ehlo: '250 mx.test' }

function linesOf({ sessions }: Exchanger): string[] {
  return sessions.flatMap(({ commands }) => commands)
}

test('a message that the server accepts is delivered, with all the evidence', async () => {
  const exchanger = await exchangerWith()
  const attempt = await send(engineWith(), siteOf(exchanger))
  expect(attempt).toEqual({
    phase: 'dot',
    outcome: { kind: 'delivered' },
    reply: { code: 250, enhanced: '2.0.0', text: 'queued' },
    mx: 'mx1.example.test',
    ip: '127.0.0.1',
    tls: null,
    durationMs: expect.any(Number),
    timings: expect.any(Object),
  })
  expect(attempt.durationMs).toBeGreaterThan(0)
  expect(exchanger.messages).toMatchObject([
    { from: 'sender@sender.test', to: ['user@example.test'], content: 'Subject: hello\r\n\r\nHello.\r\n' },
  ])
})

test('look-up and delivery together lead from the name of a domain to its exchanger', async () => {
  const exchanger = await exchangerWith()
  const dns = await startDns({
    'MX example.test': [mx('example.test', 10, 'mx.example.test')],
    'A mx.example.test': [a('mx.example.test', '127.0.0.1')],
    'AAAA mx.example.test': 'nodata',
  })
  const engine = engineWith({ resolver: createResolver({ servers: [dns.address] }), smtpPort: exchanger.port })
  const lookup = await engine.lookUp('example.test')
  expect(lookup.kind === 'site' && outcomeOf(await send(engine, lookup.site))).toBe('delivered')
  await dns.close()
})

test('a caller that gives up does not wait for the resolver, and the other callers get their answer', async () => {
  const dns = await startDns({ '*': { after: 100, act: 'nxdomain' } })
  const engine = engineWith({ resolver: createResolver({ servers: [dns.address] }) })
  const caller = new AbortController()
  const asker = { startedAtMs: performance.now(), budgetMs: 30_000, signal: caller.signal }
  const [left, stayed] = [engine.lookUp('example.test', asker), engine.lookUp('example.test')]
  caller.abort()
  expect(await left).toMatchObject({ kind: 'our_fault' })
  expect(await stayed).toMatchObject({ kind: 'no_mx_record' })
  expect(await engine.lookUp('example.test', asker)).toMatchObject({ kind: 'our_fault' })
  await dns.close()
})

test('the null sender is written as <>', async () => {
  const exchanger = await exchangerWith()
  await send(engineWith(), siteOf(exchanger), { sender: '' })
  expect(linesOf(exchanger)).toContain('MAIL FROM:<>')
})

test.each([
  'a\r\nDATA',
  'a@b\n',
  'a@b> SIZE=1',
  '<a@b',
  'ü\u0085@example.test',
  'ü\ud800@b',
  'u@exämple.test',
  'a b@example.test',
  '"a\r\n"@b',
  'a@',
])('the address %j throws and never becomes a command', async (address) => {
  const exchanger = await exchangerWith()
  const site = siteOf(exchanger)
  await expect(engineWith().deliver(deliveryTo(site, { recipients: [{ address, site }] }))).rejects.toThrow(TypeError)
  await expect(send(engineWith(), site, { sender: address })).rejects.toThrow(TypeError)
  expect(exchanger.sessions).toEqual([])
})

test.each(['"a b"@example.test', '"a>b\\"<"@example.test', "o'brien+x@example.test"])(
  '%s is a recipient',
  async (address) => {
    const exchanger = await exchangerWith()
    const site = siteOf(exchanger)
    await engineWith().deliver(deliveryTo(site, { recipients: [{ address, site }] }))
    expect(linesOf(exchanger)).toContain(`RCPT TO:<${address}>`)
  },
)

test('content with a bare LF or CR, NUL or a high byte throws, and nothing is sent', async () => {
  const exchanger = await exchangerWith()
  for (const text of ['a\n.\r\n', 'a\r.\r\n', 'a\n.\n', 'a\r\n\0.\r\n', '\r\nü\r\n'])
    await expect(send(engineWith(), siteOf(exchanger), { content: [Buffer.from(text)] })).rejects.toThrow(TypeError)
  expect(exchanger.sessions).toEqual([])
})

test('lines that begin with a dot arrive unchanged', async () => {
  const exchanger = await exchangerWith()
  const text = '.\r\n..\r\n.hidden\r\nx.\r\n\r\n.\r\n'
  await send(engineWith(), siteOf(exchanger), { content: [...text].map((char) => Buffer.from(char)) })
  expect(exchanger.messages[0]).toMatchObject({ content: text, wire: '..\r\n...\r\n..hidden\r\nx.\r\n\r\n..\r\n' })
})

// Round trips

test('a send on a reused connection is two round trips, in two writes', async () => {
  const exchanger = await exchangerWith()
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  await send(engine, site)
  const [session] = exchanger.sessions
  const [turns, segments] = [session!.turns, session!.segments.length]
  await send(engine, site)
  expect(session!.turns - turns).toBe(2)
  expect(session!.segments.slice(segments).join('')).toBe(
    'MAIL FROM:<sender@sender.test>\r\nRCPT TO:<user@example.test>\r\nDATA\r\nSubject: hello\r\n\r\nHello.\r\n.\r\n',
  )
  expect(session!.segments[segments]).toMatch(/^MAIL.*\r\nRCPT.*\r\nDATA\r\n$/)
})

test('fifty recipients are still two round trips', async () => {
  const exchanger = await exchangerWith()
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  await send(engine, site)
  const turns = exchanger.sessions[0]!.turns
  const recipients = Array.from({ length: 50 }, (_, i) => ({ address: `user${i}@example.test`, site }))
  await engine.deliver(deliveryTo(site, { recipients }))
  expect(exchanger.sessions[0]!.turns - turns).toBe(2)
  expect(exchanger.messages[1]!.to).toHaveLength(50)
})

test('without PIPELINING each command waits for the reply to the one before', async () => {
  const exchanger = await exchangerWith(NO_PIPELINING)
  expect(outcomeOf(await send(engineWith(), siteOf(exchanger)))).toBe('delivered')
  const { segments } = exchanger.sessions[0]!
  expect(segments.slice(1, 4)).toEqual([
    'MAIL FROM:<sender@sender.test>\r\n',
    'RCPT TO:<user@example.test>\r\n',
    'DATA\r\n',
  ])
})

test('a server that refuses HELO too refuses the message', async () => {
  const exchanger = await exchangerWith({ ehlo: '500 what?', helo: '550 5.7.1 no' })
  expect(await send(engineWith(), siteOf(exchanger))).toMatchObject({ phase: 'ehlo', reply: { code: 550 } })
})

test('greetings and replies of several lines are understood', async () => {
  const exchanger = await exchangerWith({
    greeting: '220-mx.test\r\n220-No spam\r\n220 ready',
    mail: '250-2.1.0 fine\r\n250 2.1.0 go on',
    dot: '250-2.0.0 thanks\r\n250 2.0.0 as 4711',
  })
  const attempt = await send(engineWith(), siteOf(exchanger))
  expect(attempt.reply).toEqual({ code: 250, enhanced: '2.0.0', text: 'thanks as 4711' })
})

test('a server that offers DSN is asked to send bounces with the headers only', async () => {
  const exchanger = await exchangerWith({ ehlo: '250-mx.test\r\n250-PIPELINING\r\n250-DSN\r\n250 SIZE 60' })
  expect(outcomeOf(await send(engineWith(), siteOf(exchanger)))).toBe('delivered')
  expect(linesOf(exchanger)).toContain('MAIL FROM:<sender@sender.test> SIZE=26 RET=HDRS')
})

// SIZE

test('the message size is declared to a server that announces a limit, and a message over the limit is a policy block that is never sent', async () => {
  const exchanger = await exchangerWith({ ehlo: '250-mx.test\r\n250-PIPELINING\r\n250 SIZE 60' })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  expect(outcomeOf(await send(engine, site))).toBe('delivered')
  expect(linesOf(exchanger)).toContain('MAIL FROM:<sender@sender.test> SIZE=26')
  expect(outcomeOf(await send(engine, site, { content: [Buffer.from('.x\r\n'.repeat(15))] }))).toBe('delivered')
  const attempt = await send(engine, site, { content: [Buffer.from(`${'.x\r\n'.repeat(15)}\r\n`)] })
  expect(attempt).toMatchObject({
    phase: 'ehlo',
    outcome: { kind: 'bounced', reason: 'policy_block', retryable: false },
    reply: { code: 250, text: 'SIZE 60' },
    detail: expect.stringContaining('62'),
  })
  expect([exchanger.messages.length, exchanger.sessions.length]).toEqual([2, 1])
  expect(outcomeOf(await send(engine, site))).toBe('delivered')
})

test.each(['SIZE', 'SIZE 0', 'SIZE unlimited', 'SIZE -5', 'size 1000', 'SIZE 99999999999999999999999'])(
  '%s is no limit for a small message',
  async (size) => {
    const exchanger = await exchangerWith({ ehlo: `250-mx.test\r\n250 ${size}` })
    expect(outcomeOf(await send(engineWith(), siteOf(exchanger)))).toBe('delivered')
  },
)

// Recipients

test('each recipient has its own outcome, in the order of the recipients', async () => {
  const rcpt = (line: string) =>
    line.includes('nobody') ? '550 5.1.1 unknown' : line.includes('full') ? '452 4.2.2 full' : undefined
  for (const script of [{ rcpt }, { rcpt, ...NO_PIPELINING }]) {
    const exchanger = await exchangerWith(script)
    const site = siteOf(exchanger)
    const asked: number[][] = []
    const attempts = await engineWith().deliver(
      deliveryTo(site, {
        recipients: ['nobody', 'one', 'full', 'two'].map((user) => ({ address: `${user}@example.test`, site })),
        beforeDot: async (recipients) => asked.push(recipients) > 0,
      }),
    )
    expect(attempts.map(outcomeOf)).toEqual(['mailbox_does_not_exist', 'delivered', 'mailbox_full', 'delivered'])
    expect(attempts.map(({ phase }) => phase)).toEqual(['rcpt', 'dot', 'rcpt', 'dot'])
    expect(asked).toEqual([[1, 3]])
    expect(exchanger.messages.map(({ to }) => to)).toEqual([['one@example.test', 'two@example.test']])
  }
})

/** One recipient at each of these domains, all at this site. */
const atDomains = (site: Site, domains: string[]) => domains.map((domain) => ({ address: `user@${domain}`, site }))

test('each domain of a site has a transaction with its own sender and permission, side by side', async () => {
  const exchanger = await exchangerWith()
  const site = siteOf(exchanger)
  const asked: number[][] = []
  const recipients = [...atDomains(site, ['a.test', 'b.test']), { address: 'other@A.test', site }]
  const attempts = await engineWith().deliver({
    ...deliveryTo(site, { recipients, beforeDot: async (accepted) => asked.push(accepted) > 0 }),
    senderFor: (domain) => `for-${domain}@sender.test`,
  })
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'delivered', 'delivered'])
  const envelopes = exchanger.messages.map(({ from, to }) => [from, ...to]).sort()
  expect(envelopes).toEqual([
    ['for-a.test@sender.test', 'user@a.test', 'other@A.test'],
    ['for-b.test@sender.test', 'user@b.test'],
  ])
  expect(asked.sort()).toEqual([[0, 2], [1]])
  expect(exchanger.sessions).toHaveLength(2)
})

test('a server that takes one domain for each transaction accepts every domain', async () => {
  let domain: string | undefined
  const exchanger = await exchangerWith({
    mail: () => {
      domain = undefined
      return undefined
    },
    rcpt: (line) => {
      const next = line.slice(line.indexOf('@'))
      domain ??= next
      return next === domain ? undefined : '451 4.3.0 one domain at a time'
    },
  })
  const site = { ...siteOf(exchanger), limits: { connections: 1, messages: 100 } }
  const recipients = [...atDomains(site, ['a.test', 'b.test', 'c.test']), { address: 'other@b.test', site }]
  const attempts = await engineWith().deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'delivered', 'delivered', 'delivered'])
})

test('fifty domains of a site with two places are delivered over two connections', async () => {
  const exchanger = await exchangerWith()
  const site = { ...siteOf(exchanger), limits: { connections: 2, messages: 100 } }
  const domains = Array.from({ length: 50 }, (_, i) => `domain${i}.test`)
  const attempts = await engineWith().deliver(deliveryTo(site, { recipients: atDomains(site, domains) }))
  expect(new Set(attempts.map(outcomeOf))).toEqual(new Set(['delivered']))
  expect(exchanger.messages).toHaveLength(50)
  expect(exchanger.sessions).toHaveLength(2)
})

test.each([
  [
    'the sender is refused',
    { mail: (line: string) => (line.includes('for-b.test') ? '550 5.7.1 no' : undefined) },
    'policy_block',
  ],
  [
    'the connection closes at the dot',
    { dot: (_: string, times: number) => (times === 1 ? 'close' : undefined) },
    'in_doubt',
  ],
] as const)(
  'a domain whose transaction fails (%s) takes none of the other domains with it',
  async (_, script, expected) => {
    const exchanger = await exchangerWith(script)
    const site = { ...siteOf(exchanger), limits: { connections: 1, messages: 100 } }
    const attempts = await engineWith().deliver({
      ...deliveryTo(site, { recipients: atDomains(site, ['a.test', 'b.test', 'c.test']) }),
      senderFor: (domain) => `for-${domain}@sender.test`,
    })
    expect(attempts.map(outcomeOf)).toEqual(['delivered', expected, 'delivered'])
  },
)

test('a permission that is refused stops its own domain only', async () => {
  const exchanger = await exchangerWith()
  const site = siteOf(exchanger)
  const recipients = atDomains(site, ['a.test', 'b.test'])
  const attempts = await engineWith().deliver(
    deliveryTo(site, { recipients, beforeDot: async ([first]) => first === 1 }),
  )
  expect(attempts.map(outcomeOf)).toEqual(['our_fault', 'delivered'])
  expect(exchanger.messages.map(({ to }) => to)).toEqual([['user@b.test']])
})

test('if every recipient is refused, neither content nor dot is sent', async () => {
  for (const script of [{}, NO_PIPELINING]) {
    const exchanger = await exchangerWith({ rcpt: '550 5.1.1 no', ...script })
    let asked = false
    await send(engineWith(), siteOf(exchanger), { beforeDot: async () => (asked = true) })
    expect(asked).toBe(false)
    expect(exchanger.sessions[0]!.segments.join('')).not.toContain('Subject')
  }
})

test.each([
  ['every recipient', { rcpt: '550 5.1.1 no' }, 'mailbox_does_not_exist'],
  ['the sender', { mail: '550 5.7.1 no' }, 'policy_block'],
])(
  'a server that refuses %s and then asks for the content gets nothing more, and the connection is closed',
  async (_, script, expected) => {
    const exchanger = await exchangerWith({ ...script, data: '354 give it to me' })
    const [engine, site] = [engineWith(), siteOf(exchanger)]
    expect(outcomeOf(await send(engine, site))).toBe(expected)
    await eventually(() => expect(exchanger.sessions[0]!.closed).toBe(true))
    expect(exchanger.sessions[0]!.segments.at(-1)).toMatch(/DATA\r\n$/)
  },
)

test.each([
  ['asks for the content', '354 give it to me'],
  ['closes', 'close'],
  ['talks garbage', { raw: 'oops\r\n' }],
] as const)(
  'a server that refuses every recipient and then %s is not tried again, nor is another one',
  async (_, data) => {
    const [first, second] = [await exchangerWith({ rcpt: '550 5.1.1 no', data }), await exchangerWith()]
    expect(outcomeOf(await send(engineWith(), siteOf(first, second)))).toBe('mailbox_does_not_exist')
    await eventually(() => expect(first.sessions[0]!.closed).toBe(true))
    await quietFor(20)
    expect([first.sessions.length, second.sessions.length]).toEqual([1, 0])
  },
)

// After a failed transaction

test.each([
  ['pipelined', {}],
  ['step by step', NO_PIPELINING],
])('%s, an open transaction is reset before the next one, and only then', async (_, script) => {
  const exchanger = await exchangerWith({
    ...script,
    rcpt: (line) => (line.includes('no') ? '550 5.1.1 no' : undefined),
  })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  const to = (address: string) => send(engine, site, { recipients: [{ address, site }] })
  expect([
    outcomeOf(await to('no@x.test')),
    outcomeOf(await to('yes@x.test')),
    outcomeOf(await to('yes@x.test')),
  ]).toEqual(['mailbox_does_not_exist', 'delivered', 'delivered'])
  expect(exchanger.sessions).toHaveLength(1)
  expect(linesOf(exchanger).filter((line) => line === 'RSET')).toHaveLength(1)
})

test('a refused sender needs no reset', async () => {
  const exchanger = await exchangerWith({ mail: (_line, times) => (times === 0 ? '550 5.7.1 no' : undefined) })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  expect([outcomeOf(await send(engine, site)), outcomeOf(await send(engine, site))]).toEqual([
    'policy_block',
    'delivered',
  ])
  expect(linesOf(exchanger)).not.toContain('RSET')
  expect(exchanger.sessions).toHaveLength(1)
})

test('a reset counts also where the sender behind it is refused', async () => {
  const exchanger = await exchangerWith({
    rcpt: (_line, times) => (times === 0 ? '550 5.1.1 User unknown' : undefined),
    mail: (_line, times) => (times === 1 ? '550 5.7.1 no' : undefined),
  })
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  const outcomes = []
  for (let i = 0; i < 3; i++) outcomes.push(outcomeOf(await send(engine, site)))
  expect(outcomes).toEqual(['mailbox_does_not_exist', 'policy_block', 'delivered'])
  expect(exchanger.sessions).toHaveLength(1)
  expect(linesOf(exchanger).filter((line) => line === 'RSET')).toHaveLength(1)
})

test('a refusal while the content is on its way is the outcome, and no dot follows', async () => {
  const exchanger = await exchangerWith({ content: '552 5.3.4 too big' })
  const attempt = await send(engineWith(), siteOf(exchanger), { beforeDot: () => takes(500, true) })
  expect(attempt).toMatchObject({ phase: 'data', reply: { code: 552 }, outcome: { reason: 'policy_block' } })
  expect([exchanger.messages.length, exchanger.sessions.length]).toEqual([0, 1])
})

test.each([
  ['with the reply to DATA', { data: { raw: '354 go\r\n250 2.0.0 queued\r\n' } }],
  ['while the content is on its way', { content: '250 2.0.0 queued' }],
  ['in part', { content: { raw: '250 2.0' } }],
])('an acceptance %s, before the dot, is no acceptance', async (_, script) => {
  const exchanger = await exchangerWith(script)
  const attempt = await send(engineWith(), siteOf(exchanger), { beforeDot: () => takes(500, true) })
  expect(outcomeOf(attempt)).toBe('temporary_failure')
  expect(exchanger.messages).toEqual([])
  expect(exchanger.sessions.map(({ segments }) => segments.join('')).join('')).not.toMatch(/\r\n\.\r\n/)
})

// Hosts

test('when all hosts refuse the connection, the attempt is a connection timeout with the last host as evidence', async () => {
  const [first, second] = [await closedPort(), await closedPort()]
  expect(await send(engineWith(), siteOf(first, second))).toMatchObject({
    phase: 'connect',
    outcome: { kind: 'bounced', reason: 'connection_timeout', retryable: true },
    mx: 'mx2.example.test',
    ip: '127.0.0.1',
    detail: expect.stringContaining('ECONNREFUSED'),
  })
})

test('a first host that is dead costs only the attempt at it', async () => {
  const second = await exchangerWith()
  expect(await send(engineWith(), siteOf(await closedPort(), second))).toMatchObject({
    outcome: { kind: 'delivered' },
    mx: 'mx2.example.test',
  })
})

test('the reply of the first host counts more than the silence of the second', async () => {
  const first = await exchangerWith({ greeting: '554 5.7.1 go away' })
  expect(await send(engineWith(), siteOf(first, await closedPort()))).toMatchObject({
    phase: 'greeting',
    outcome: { reason: 'policy_block' },
    mx: 'mx1.example.test',
  })
})

test('a recipient that the first host refused stays refused; the second host gets only the others', async () => {
  const first = await exchangerWith({
    rcpt: (line) => (line.includes('no') ? '550 5.1.1 no' : undefined),
    data: 'close',
  })
  const second = await exchangerWith()
  const site = siteOf(first, second)
  const recipients = ['no', 'yes'].map((user) => ({ address: `${user}@example.test`, site }))
  const attempts = await engineWith().deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(['mailbox_does_not_exist', 'delivered'])
  expect(attempts.map((attempt) => attempt.mx)).toEqual(['mx1.example.test', 'mx2.example.test'])
  expect(linesOf(second).filter((line) => line.startsWith('RCPT'))).toEqual(['RCPT TO:<yes@example.test>'])
})

test('a closed engine accepts no more sends', async () => {
  const exchanger = await exchangerWith()
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  await send(engine, site)
  engine.close()
  expect(await send(engine, site)).toMatchObject({ outcome: { kind: 'our_fault', cause: 'draining' } })
  await eventually(() => expect(exchanger.sessions[0]!.closed).toBe(true))
  expect(linesOf(exchanger).at(-1)).toBe('QUIT')
})

test('a send that is running when the engine is closed completes', async () => {
  const exchanger = await exchangerWith({ dot: { after: 80, act: '250 2.0.0 ok' } })
  const engine = engineWith()
  const running = send(engine, siteOf(exchanger))
  await eventually(() => expect(exchanger.sessions).toHaveLength(1))
  engine.close()
  expect(outcomeOf(await running)).toBe('delivered')
  await eventually(() => expect(linesOf(exchanger).at(-1)).toBe('QUIT'))
})

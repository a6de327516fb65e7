import { expect, test, vi } from 'vitest'
import type { SmtpAttempt } from '../../../mail/smtp/attempt.ts'
import { eventually } from '../../harness/eventually.ts'
import { stopwatch } from '../../harness/stopwatch.ts'
import { takes } from '../../harness/waits.ts'
import { deliveryTo, engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

vi.setConfig({ maxConcurrency: 16 })

// The final dot: what permits it, what forbids it, and how long its reply is waited for.

/** An engine for sends that must succeed, however busy the machine is. */
const patient = () => engineWith({ limits: { connectMs: 10_000, commandMs: 10_000 } })

test.concurrent.each([
  ['says no', async () => false],
  ['throws', async () => Promise.reject(new Error('no database'))],
  [
    'throws at once',
    () => {
      throw new Error('no database')
    },
  ],
  ['says something else', async () => 'yes' as unknown as boolean],
  ['says yes too late', () => takes(2_500, true)],
  ['never answers', () => new Promise<boolean>(() => {})],
])('when the caller %s, no dot is sent, the fault is ours and no other host is tried', async (_, beforeDot) => {
  const [first, second] = [await exchangerWith(), await exchangerWith()]
  const attempt = await send(patient(), siteOf(first, second), { beforeDot, budgetMs: 4_000 })
  expect(attempt).toMatchObject({
    phase: 'data',
    outcome: { kind: 'our_fault', cause: expect.stringContaining('no leave for the dot') },
  })
  const session = first.sessions[0]!
  await eventually(() => expect(session.closed).toBe(true))
  expect(session.segments.join('')).toMatch(/Hello\.\r\n$/)
  expect([first.messages.length, second.sessions.length]).toEqual([0, 0])
})

test.concurrent('the caller is asked for permission while the content is on its way, and the dot waits for the answer', async () => {
  const exchanger = await exchangerWith()
  let arrived = ''
  const attempt = await send(patient(), siteOf(exchanger), {
    beforeDot: async (recipients) => {
      expect(recipients).toEqual([0])
      arrived = await eventually(() => {
        const seen = exchanger.sessions[0]!.segments.join('')
        expect(seen).toMatch(/Hello\.\r\n$/)
        return seen
      })
      return true
    },
  })
  expect(arrived).toMatch(/Hello\.\r\n$/)
  expect(outcomeOf(attempt)).toBe('delivered')
})

test.concurrent('a server that sends more than the go-ahead for the content ends the attempt before the caller is asked', async () => {
  const exchanger = await exchangerWith({ data: { raw: '354 go\r\n250 2.0.0 queued\r\n' } })
  let isAsked = false
  const beforeDot = async () => {
    isAsked = true
    return true
  }
  const attempt = await send(engineWith(), siteOf(exchanger), { beforeDot })
  expect([outcomeOf(attempt), isAsked]).toEqual(['temporary_failure', false])
})

test.concurrent('when the server closes while the content is on its way, the next host is tried with a new permission', async () => {
  for (const fault of ['close', 'reset'] as const) {
    const [first, second] = [await exchangerWith({ content: fault }), await exchangerWith()]
    let running = 0
    let asked = 0
    const attempt = await send(engineWith(), siteOf(first, second), {
      beforeDot: async () => {
        expect(++running).toBe(1)
        // The server closes before the permission is given, also on a busy machine.
        await takes(1_000)
        running--
        return ++asked > 0
      },
    })
    expect(outcomeOf(attempt)).toBe('delivered')
    expect([asked, first.messages.length, second.messages.length]).toEqual([2, 0, 1])
  }
})

test.concurrent('when the server closes while the caller refuses permission, no other host is tried', async () => {
  const [first, second] = [await exchangerWith({ content: 'close' }), await exchangerWith()]
  const attempt = await send(engineWith(), siteOf(first, second), { beforeDot: () => takes(50, false) })
  expect(outcomeOf(attempt)).toBe('our_fault')
  expect(second.sessions).toEqual([])
})

// A caller that gives up

test.concurrent.each(['greeting', 'ehlo', 'starttls', 'handshake', 'mail', 'rcpt', 'data'] as const)(
  'when the caller gives up while the reply to %s is awaited, the send ends at once as our fault and nothing is sent',
  async (verb) => {
    const isSecure = verb === 'starttls' || verb === 'handshake'
    const ehlo = isSecure ? '250-mx.test\r\n250 STARTTLS' : undefined
    const [first, second] = [await exchangerWith({ ehlo, [verb]: 'stall' }), await exchangerWith()]
    const caller = new AbortController()
    const sending = send(patient(), siteOf(first, second), { signal: caller.signal })
    const command = verb === 'greeting' ? '' : isSecure ? 'starttls' : verb
    const isAsked = new RegExp(`^${command}`, 'im')
    await eventually(() => expect(first.sessions.map(({ commands }) => commands.join('\n'))[0]).toMatch(isAsked))
    const watch = stopwatch()
    caller.abort()
    expect(await sending).toMatchObject({ outcome: { kind: 'our_fault', cause: 'the caller left' } })
    // The timeout of a command is 10 s here.
    expect(watch.ms()).toBeLessThan(1_500)
    expect([first.messages.length, second.sessions.length]).toEqual([0, 0])
    await eventually(() => expect(first.sessions[0]!.closed).toBe(true))
  },
)

test.concurrent('when the caller gave up before the send, no host is dialled', async () => {
  const exchanger = await exchangerWith()
  const attempt = await send(engineWith(), siteOf(exchanger), { signal: AbortSignal.abort() })
  expect(attempt).toMatchObject({ outcome: { kind: 'our_fault', cause: 'the caller left' } })
  expect(exchanger.sessions).toEqual([])
})

test.concurrent('once the caller was asked for permission, its giving up does not stop the send', async () => {
  const exchanger = await exchangerWith({ dot: { after: 80, act: '250 2.0.0 ok' } })
  for (const when of [0, 20, 60]) {
    const caller = new AbortController()
    const attempt = await send(patient(), siteOf(exchanger), {
      signal: caller.signal,
      beforeDot: async () => {
        setTimeout(() => caller.abort(), when)
        await takes(40)
        return true
      },
    })
    expect(outcomeOf(attempt)).toBe('delivered')
  }
})

test.concurrent('a caller that gives up after it was asked does not stop the next host either', async () => {
  const [first, second] = [await exchangerWith({ content: 'close' }), await exchangerWith()]
  const caller = new AbortController()
  const attempt = await send(patient(), siteOf(first, second), {
    signal: caller.signal,
    beforeDot: async () => {
      caller.abort()
      return takes(500, true)
    },
  })
  expect(outcomeOf(attempt)).toBe('delivered')
})

test.concurrent('a caller that gives up stops only the sites that it was not asked about yet', async () => {
  const [quick, slow] = [
    await exchangerWith({ dot: { after: 80, act: '250 ok' } }),
    await exchangerWith({ rcpt: 'stall' }),
  ]
  const caller = new AbortController()
  const sites = [siteOf(quick), siteOf(slow)]
  const attempts = await patient().deliver(
    deliveryTo(sites[0]!, {
      recipients: sites.map((site, i) => ({ address: `user${i}@example.test`, site })),
      signal: caller.signal,
      beforeDot: async () => {
        caller.abort()
        return true
      },
    }),
  )
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'our_fault'])
})

// Time

test.concurrent('each command has its own timeout, and all commands before the dot share a deadline', async () => {
  const slow = { after: 150, act: '250 ok' } as const
  const exchanger = await exchangerWith({ ehlo: slow, mail: slow, rcpt: slow })
  const startedAt = performance.now()
  const watch = stopwatch()
  const attempt = await send(engineWith(), siteOf(exchanger), { budgetMs: 700 })
  expect(attempt).toMatchObject({ outcome: { reason: 'connection_timeout' }, detail: 'out of time' })
  expect(performance.now() - startedAt).toBeGreaterThan(340)
  // Less than the budget.
  expect(watch.ms()).toBeLessThan(690)
})

test.concurrent('a site may have a command timeout of its own', async () => {
  const exchanger = await exchangerWith({ rcpt: 'stall' })
  const watch = stopwatch()
  const attempt = await send(patient(), { ...siteOf(exchanger), commandTimeoutMs: 1_000 })
  expect(attempt).toMatchObject({ phase: 'rcpt', outcome: { reason: 'connection_timeout' } })
  // The engine's own timeout is 10 s here.
  expect(watch.ms()).toBeLessThan(5_000)
})

test.concurrent('the reply to the dot may take all of the remaining budget', async () => {
  const exchanger = await exchangerWith({ dot: { after: 2_000, act: '250 2.0.0 ok' } })
  expect(outcomeOf(await send(patient(), siteOf(exchanger), { budgetMs: 3_600 }))).toBe('delivered')
})

test.concurrent('no host is dialled after the deadline of the dot', async () => {
  const exchanger = await exchangerWith()
  const startedAtMs = performance.now() - 1_500
  expect(outcomeOf(await send(engineWith(), siteOf(exchanger), { startedAtMs, budgetMs: 2_000 }))).toBe('our_fault')
  expect(exchanger.sessions).toEqual([])
})

// Late replies

test.concurrent.each([
  ['250 2.0.0 queued', 'delivered'],
  ['550 5.7.1 no', 'policy_block'],
])('a reply %s after the deadline: in doubt for the caller, reported later for the record', async (reply, expected) => {
  const exchanger = await exchangerWith({ dot: { after: 3_000, act: reply } })
  const late: SmtpAttempt[] = []
  const references: (string | undefined)[] = []
  const onLateReply = (attempt: SmtpAttempt, reference?: string) => late.push(attempt) && references.push(reference)
  const engine = engineWith({ onLateReply })
  const attempt = await send(engine, siteOf(exchanger), { budgetMs: 2_000, reference: 'message 17' })
  expect(attempt).toMatchObject({ phase: 'after_dot', outcome: { kind: 'in_doubt' }, tls: null })
  expect(attempt.durationMs).toBeGreaterThan(1_990)
  expect(late).toEqual([])
  await eventually(() => expect(late.map(outcomeOf)).toEqual([expected]))
  expect(references).toEqual(['message 17'])
  expect(late[0]).toMatchObject({
    phase: 'dot',
    mx: 'mx1.example.test',
    ip: '127.0.0.1',
    reply: { code: Number(reply.slice(0, 3)) },
  })
  expect(late[0]!.durationMs).toBeGreaterThan(2_990)
  await eventually(() => expect(exchanger.sessions[0]!.commands.at(-1)).toBe('QUIT'))
})

test.concurrent('late replies are waited for until a timeout, and only up to a number of them', async () => {
  const exchanger = await exchangerWith({ dot: 'stall' })
  const late: SmtpAttempt[] = []
  const onLateReply = (attempt: SmtpAttempt) => late.push(attempt)
  const engine = engineWith({ onLateReply, limits: { lateReplyMs: 1_500, lateReplies: 2 } })
  const site = siteOf(exchanger)
  await Promise.all([1, 2, 3].map(() => send(engine, site, { budgetMs: 2_000 })))
  await eventually(() => expect(exchanger.sessions.filter(({ closed }) => closed)).toHaveLength(1))
  await eventually(() => expect(exchanger.sessions.filter(({ closed }) => closed)).toHaveLength(3))
  expect(late).toEqual([])
})

test.concurrent('closing the engine ends the wait for late replies, also that of a send still running', async () => {
  for (const closes of ['while it runs', 'after it'] as const) {
    const exchanger = await exchangerWith({ dot: 'stall' })
    const engine = engineWith()
    const running = send(engine, siteOf(exchanger), { budgetMs: 2_000 })
    await eventually(() => expect(exchanger.messages).toHaveLength(1))
    if (closes === 'after it') await running
    expect(exchanger.sessions[0]!.closed).toBe(false)
    engine.close()
    expect(outcomeOf(await running)).toBe('in_doubt')
    await eventually(() => expect(exchanger.sessions[0]!.closed).toBe(true))
  }
})

// This test runs alone: preparing its content would delay the other tests.
test('a server that stops reading meets the deadline, and gets no dot', async () => {
  const content = [Buffer.from(`${'x'.repeat(76)}\r\n`.repeat(400_000))]
  const [first, second] = [await exchangerWith({ content: 'deaf' }), await exchangerWith()]
  const watch = stopwatch()
  const attempt = await send(patient(), siteOf(first, second), { content, budgetMs: 6_000 })
  expect(attempt).toMatchObject({ phase: 'data', outcome: { reason: 'connection_timeout' } })
  // Less than the budget.
  expect(watch.ms()).toBeLessThan(5_500)
  expect(first.messages).toEqual([])
})

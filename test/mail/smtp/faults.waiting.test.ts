import { expect, test, vi } from 'vitest'
import type { Act, Verb } from '../../harness/smtp-script.ts'
import { takes } from '../../harness/waits.ts'
import { engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

// Every fault at every verb, against an exchanger that has it each time and one that has it the first time only.

vi.setConfig({ maxConcurrency: 16 })

const BEFORE_DOT: Verb[] = ['greeting', 'ehlo', 'mail', 'rcpt', 'data', 'content']

/** A fault, and the outcome when it comes before the dot each time. After garbage, a fresh connection is tried. */
const FAULTS: [name: string, act: Act, expected: string][] = [
  ['silence', 'stall', 'connection_timeout'],
  ['silence without reading', 'deaf', 'connection_timeout'],
  ['a close', 'close', 'connection_timeout'],
  ['a reset', 'reset', 'connection_timeout'],
  ['one byte at a time', { drip: '250 ok very slowly indeed\r\n', everyMs: 300 }, 'connection_timeout'],
  ['half a line, then silence', { raw: '250 o', act: 'stall' }, 'connection_timeout'],
  ['an open reply, then silence', { raw: '250-o\r\n', act: 'stall' }, 'connection_timeout'],
  ['text that is no reply', { raw: 'hello, what can I do for you?\r\n' }, 'temporary_failure'],
  ['binary garbage', { raw: Buffer.from([0, 255, 13, 10, 254, 10, 0]) }, 'temporary_failure'],
  ['a bare CR', { raw: '250 o\rk\r\n' }, 'temporary_failure'],
  ['1 MB on one line', { raw: `250 ${'x'.repeat(1_000_000)}\r\n` }, 'temporary_failure'],
  ['1 MB on many lines', { raw: `250-${'x'.repeat(96)}\r\n`.repeat(10_000) }, 'temporary_failure'],
  ['codes of two classes in one reply', { raw: '250-ok\r\n550 no\r\n' }, 'temporary_failure'],
  ['an unknown code', { raw: '650 what\r\n' }, 'temporary_failure'],
]

/** While the content is on its way the server has nothing to send: any input is garbage, and silence is no fault. */
const AT_CONTENT: Record<string, string> = {
  silence: 'in_doubt',
  'silence without reading': 'in_doubt',
  'one byte at a time': 'temporary_failure',
  'half a line, then silence': 'temporary_failure',
  'an open reply, then silence': 'temporary_failure',
}

const CASES = BEFORE_DOT.flatMap((verb) =>
  FAULTS.map(([name, act, expected]) => ({
    verb,
    name,
    act: verb === 'greeting' || verb === 'content' ? { after: 5, act } : act,
    expected: (verb === 'content' && AT_CONTENT[name]) || expected,
  })),
)

test.concurrent.each(CASES)('$name at $verb: $expected', async ({ verb, act, expected }) => {
  const exchanger = await exchangerWith({ [verb]: act })
  let asked = 0
  const beforeDot = async () => {
    asked++
    // The fault must come before the dot, also on a busy machine.
    await takes(verb === 'content' ? 1_000 : 0)
    return true
  }
  const isContent = verb === 'content'
  const engine = engineWith(isContent ? { limits: { commandMs: 3_000 } } : {})
  const attempt = await send(engine, siteOf(exchanger), { beforeDot, budgetMs: isContent ? 10_000 : 4_000 })
  expect(outcomeOf(attempt)).toBe(expected)
  if (expected === 'in_doubt') return
  const isGarbage = expected === 'temporary_failure'
  expect({ sessions: exchanger.sessions.length, phase: attempt.phase }).toEqual({
    sessions: isGarbage ? 2 : 1,
    phase: verb === 'content' ? 'data' : verb,
  })
  // Garbage at the content may come just before we ask for permission, or just after.
  if (verb !== 'content') expect(asked).toBe(0)
  expect(exchanger.messages).toEqual([])
  expect(exchanger.sessions.map(({ segments }) => segments.join('')).join('')).not.toMatch(/\r\n\.\r\n/)
})

const ONCE = FAULTS.filter(([, , expected]) => expected === 'temporary_failure').flatMap(([name, act]) =>
  BEFORE_DOT.map((verb) => ({ name, verb, act })),
)

test.concurrent.each(ONCE)('$name at $verb once: a fresh connection delivers the message', async ({ verb, act }) => {
  const exchanger = await exchangerWith({ [verb]: (_line: string, times: number) => (times === 0 ? act : undefined) })
  const attempt = await send(engineWith(), siteOf(exchanger), { beforeDot: () => takes(1_000, true) })
  expect(outcomeOf(attempt)).toBe('delivered')
  expect([exchanger.sessions.length, exchanger.messages.length]).toEqual([2, 1])
})

test.concurrent.each([
  ['greeting', '354 go'],
  ['ehlo', '354 go'],
  ['mail', '354 go'],
  ['rcpt', '354 go'],
  ['data', '250 ok'],
])(
  'a reply out of place, %s answered by %s: one fresh connection is tried and no content is sent',
  async (verb, reply) => {
    for (const offers of [{}, { ehlo: '250 mx.test' }]) {
      const [first, second] = [await exchangerWith({ ...offers, [verb]: reply }), await exchangerWith()]
      const attempt = await send(engineWith(), siteOf(first, second))
      expect([outcomeOf(attempt), attempt.phase]).toEqual(['temporary_failure', verb])
      expect([first.sessions.length, second.sessions.length]).toEqual([2, 0])
      expect(first.sessions.map(({ segments }) => segments.join('')).join('')).not.toContain('Hello.')
    }
  },
)

const LOST = FAULTS.filter(([, , expected]) => expected === 'connection_timeout').flatMap(([name, act]) =>
  BEFORE_DOT.filter((verb) => verb !== 'content').map((verb) => ({ name, verb, act })),
)

test.concurrent.each(LOST)('$name at $verb: the second host gets the message', async ({ verb, act }) => {
  const [bad, good] = [await exchangerWith({ [verb]: act }), await exchangerWith()]
  const attempt = await send(engineWith(), siteOf(bad, good))
  expect(outcomeOf(attempt)).toBe('delivered')
  expect(attempt.mx).toBe('mx2.example.test')
  expect([bad.messages.length, good.messages.length]).toEqual([0, 1])
})

const AFTER_DOT: [string, Act][] = [
  ...FAULTS.map(([name, act]) => [name, act] as [string, Act]),
  ['a question back', '354 more?'],
]

test.concurrent.each(AFTER_DOT)(
  '%s after the dot: the outcome is in doubt, and nothing is tried again',
  async (_, act) => {
    const [first, second] = [await exchangerWith({ dot: act }), await exchangerWith()]
    const attempt = await send(engineWith(), siteOf(first, second), { budgetMs: 4_000 })
    expect(attempt).toMatchObject({ phase: 'after_dot', outcome: { kind: 'in_doubt' }, mx: 'mx1.example.test' })
    expect([first.sessions.length, first.messages.length, second.sessions.length]).toEqual([1, 1, 0])
  },
)

const REFUSALS: [verb: Verb, reply: string, expected: string, phase: string, hosts: number][] = [
  ['greeting', '421 4.3.2 busy', 'temporary_failure', 'greeting', 2],
  ['greeting', '450 later', 'temporary_failure', 'greeting', 2],
  ['greeting', '554 5.7.1 go away', 'policy_block', 'greeting', 2],
  ['greeting', '521 no mail here', 'policy_block', 'greeting', 2],
  ['greeting', '556 no mail here', 'policy_block', 'greeting', 2],
  ['ehlo', '421 4.3.2 busy', 'temporary_failure', 'ehlo', 2],
  ['ehlo', '451 later', 'temporary_failure', 'ehlo', 2],
  ['ehlo', '554 5.7.1 go away', 'policy_block', 'ehlo', 2],
  ['mail', '421 4.3.2 closing', 'temporary_failure', 'mail', 2],
  ['mail', '451 4.7.1 greylisted', 'temporary_failure', 'mail', 1],
  ['mail', '550 5.7.1 listed', 'policy_block', 'mail', 1],
  ['rcpt', '450 4.2.0 greylisted', 'temporary_failure', 'rcpt', 1],
  ['rcpt', '550 5.1.1 nobody', 'mailbox_does_not_exist', 'rcpt', 1],
  ['rcpt', '552 5.2.2 full', 'mailbox_full', 'rcpt', 1],
  ['rcpt', '452 4.5.3 too many recipients', 'temporary_failure', 'rcpt', 1],
  ['data', '451 4.3.0 later', 'temporary_failure', 'data', 2],
  ['data', '554 5.7.1 no', 'policy_block', 'data', 1],
  ['dot', '451 4.3.0 later', 'temporary_failure', 'dot', 2],
  ['dot', '421 4.3.2 closing', 'temporary_failure', 'dot', 2],
  ['dot', '554 5.7.1 no', 'policy_block', 'dot', 1],
  ['dot', '550 5.1.1 nobody', 'mailbox_does_not_exist', 'dot', 1],
]

for (const pipelining of [true, false]) {
  const ehlo = pipelining ? undefined : '250 mx.test'
  const how = pipelining ? 'with pipelining' : 'step by step'

  test.concurrent.each(REFUSALS)(`${how}, %s answered by %s: %s`, async (verb, reply, expected, phase, hosts) => {
    const script = { ehlo, [verb]: reply }
    const [first, second] = [await exchangerWith(script), await exchangerWith(script)]
    const attempt = await send(engineWith(), siteOf(first, second))
    expect(outcomeOf(attempt)).toBe(expected)
    expect(attempt.phase).toBe(phase)
    expect(attempt.reply?.code).toBe(Number(reply.slice(0, 3)))
    expect(first.sessions.length + second.sessions.length).toBe(hosts)
    expect(first.messages.length).toBe(verb === 'dot' ? 1 : 0)
  })
}

import { expect, test } from 'vitest'
import type { Host, Phase, Verdict } from '../../../mail/smtp/attempt.ts'
import type { Failure } from '../../../mail/smtp/failure.ts'
import type { Lane, LaneTools } from '../../../mail/smtp/lane-state.ts'
import { noteResult } from '../../../mail/smtp/note-result.ts'
import { RecipientQueue } from '../../../mail/smtp/recipient-queue.ts'
import type { RawReply } from '../../../mail/smtp/reply.ts'
import type { Session } from '../../../mail/smtp/session.ts'
import type { Place } from '../../../mail/smtp/site-connections.ts'
import type { TransactionResult } from '../../../mail/smtp/transaction.ts'
import { verdictOf } from '../../../mail/smtp/verdicts.ts'
import { outcomeOf } from './deliver.ts'

// What a lane does after each result of a transaction: a table, because what decides is only the result.

const hostNamed = (name: string): Host => ({ name, preference: 0, addresses: [], port: 25 })
const [ONE, TWO] = [hostNamed('one'), hostNamed('two')]

const rawReply = (text: string): RawReply => ({ kind: 'reply', code: Number(text.slice(0, 3)), lines: [text.slice(4)] })

/** `rcpt 550 5.1.1 User unknown`: the command and the reply to it. */
function verdictIn(text: string): Verdict {
  const [phase, ...words] = text.split(' ')
  if (phase === 'ehlo') return BEYOND_EXTENSIONS
  return verdictOf({ host: ONE } as Session, phase as Phase, rawReply(words.join(' ')))
}

const BEYOND_EXTENSIONS: Verdict = {
  phase: 'ehlo',
  outcome: { kind: 'bounced', reason: 'policy_block', retryable: false },
}

interface Before {
  /** Two by default. */
  hosts?: Host[]
  /** A message went over the session before. */
  isUsed?: boolean
  /** How many connections were opened for these recipients, this one among them. */
  connections?: number
  /** A try has met garbage. */
  mayNotRepeat?: boolean
  withoutPipelining?: boolean
  /** The longest wait for a reply to RCPT. */
  rcptMs?: number
  /** The session takes no further message. */
  isFull?: boolean
}

/** The verdict on each recipient as text; `-` where there is none. */
type Rest = Omit<Partial<TransactionResult>, 'verdicts'>
type Result = Rest & { verdicts: string[] }

interface After {
  /** The outcomes of the recipients, or `waits`. */
  become: string[]
  /** The hosts that the lane may go on with. */
  next: string
  session: 'goes on' | 'goes on, spent' | 'is over' | 'is over, spent'
  /** The most recipients of the next transaction, where it changed. */
  atATime?: number
  /** What others learn of it. */
  told?: string[]
}

function after({ verdicts, ...more }: Result, before: Before = {}): After {
  const { hosts = [ONE, TWO], isUsed = false, connections = isUsed ? 0 : 1 } = before
  const queue = new RecipientQueue(
    verdicts.map((_, index) => ({ index, address: `user${index}@example.test` })),
    { startedAtMs: 0, own: { ms: () => 0 } },
  )
  for (let count = 1; count < connections; count++)
    for (const one of queue.take({} as Session, Infinity, true))
      queue.fail([one], { kind: 'failure', phase: 'mail', how: 'closed' }, { mx: 'one', tls: null })
  const session = {
    kind: 'session',
    host: ONE,
    messages: before.isFull ? 9 : 1,
    isSpent: false,
    extensions: { pipelining: !before.withoutPipelining },
  } as Session
  const recipients = queue.take(session, Infinity, connections > 0)
  const told: string[] = []
  const place = {
    succeeded: () => told.push('delivered'),
    refusedRate: ({ beganAtMs, reply }: { beganAtMs: number; reply: string }) =>
      told.push(`rate since ${beganAtMs}: ${reply}`),
  } as unknown as Place
  const lane = {
    isFirst: true,
    session,
    hosts,
    mayRepeat: !before.mayNotRepeat,
  } as unknown as Lane
  const tools = {
    queue,
    site: { key: 'site' },
    limits: { connections: 2, messages: 9 },
    commandMs: 500,
    atATime: Infinity,
    own: {
      blame(failure: Failure, serverMs: number) {
        expect(serverMs).toBe(500)
        return failure.silentMs === 0 ? { ...failure, how: 'local' } : failure
      },
    },
    slowSites: {
      noteRcpt: (key: string, ms: number) => told.push(`${key} took ${ms} ms at RCPT`),
      noteDot: (key: string, accepted: number, ms: number) => told.push(`${key}: ${accepted} took ${ms} ms at the dot`),
    },
    opening: { forgetfulHosts: { add: ({ name }: Host) => told.push(`${name} is forgetful`) } },
    spread: (lanes: number) => told.push(`spread ${lanes}`),
    waitForLateReply: () => told.push('its reply may come'),
  } as unknown as LaneTools
  const timed: number[] = []
  const stopwatch = {
    addTo: (_: unknown, position: number) => timed.push(position),
    longestRcptMs: () => before.rcptMs,
  } as unknown as Parameters<typeof noteResult>[2]['stopwatch']
  noteResult(tools, lane, {
    place,
    session,
    recipients,
    result: {
      accepted: 0,
      reusable: true,
      ...more,
      verdicts: verdicts.map((text) => (text === '-' ? undefined : verdictIn(text))),
    },
    evidence: { mx: 'one', tls: null },
    stopwatch,
    beganAtMs: 7,
    isUsed,
  })
  expect(timed).toEqual([...verdicts.keys()])
  if (more.failure?.how === 'garbage') expect(lane.mayRepeat).toBe(false)
  else expect(lane.mayRepeat).toBe(!before.mayNotRepeat)
  const waits = new Set([...queue.waiting].map(({ index }) => index))
  const settled = queue.close('', false).toSorted((a, b) => a.index - b.index)
  const isOver = lane.session === undefined ? 'is over' : 'goes on'
  return {
    become: settled.map(({ index, attempt }) => {
      if (!waits.has(index)) return outcomeOf(attempt)
      return attempt.outcome.kind === 'our_fault' ? 'waits, by a fault of ours' : 'waits'
    }),
    next: lane.hosts.map(({ name }) => name).join(' '),
    session: session.isSpent ? `${isOver}, spent` : isOver,
    ...(tools.atATime !== Infinity && { atATime: tools.atATime }),
    ...(told.length > 0 && { told }),
  }
}

const failed = (how: Failure['how'], phase: Phase, reply?: string, silentMs = 400): Rest => ({
  reusable: false,
  failure: {
    kind: 'failure',
    phase,
    how,
    silentMs,
    ...(reply && { reply: { code: Number(reply.slice(0, 3)), enhanced: reply.slice(4, 9), text: reply.slice(10) } }),
  },
})

const TAKEN = 'dot 250 2.0.0 queued'
const UNKNOWN = 'rcpt 550 5.1.1 User unknown'
const GREY = 'rcpt 450 4.2.0 Greylisted'
const TOO_MANY = 'rcpt 452 4.5.3 Too many recipients'
const LOOKUP = 'rcpt 451 4.3.0 Temporary lookup failure'
const [DELIVERED, NO_MAILBOX, TEMPORARY] = ['delivered', 'mailbox_does_not_exist', 'temporary_failure']
const GOES_ON = { next: 'one two', session: 'goes on' } as const
const IS_OVER = { next: 'two', session: 'is over' } as const

test.each<[string, Result, Before, After]>([
  [
    'the server takes the message',
    { verdicts: [TAKEN, TAKEN], accepted: 2, dotReplyMs: 30 },
    {},
    { become: [DELIVERED, DELIVERED], ...GOES_ON, told: ['delivered', 'site: 2 took 30 ms at the dot'] },
  ],
  [
    'the server takes the message and closes',
    { verdicts: [TAKEN], accepted: 1, reusable: false },
    {},
    { become: [DELIVERED], next: 'one two', session: 'is over', told: ['delivered'] },
  ],
  [
    'the second host takes the message',
    { verdicts: [TAKEN], accepted: 1 },
    { hosts: [TWO, ONE] },
    { become: [DELIVERED], ...GOES_ON, told: ['delivered'] },
  ],
  [
    'the reply to the dot may come too late',
    { verdicts: ['dot 354 more?'], accepted: 1, reusable: false, replyMayCome: true, dotReplyMs: 60 },
    {},
    {
      become: ['in_doubt'],
      next: 'one two',
      session: 'is over',
      told: ['site: 1 took 60 ms at the dot', 'its reply may come'],
    },
  ],
  [
    'the server takes its time over a recipient',
    { verdicts: [UNKNOWN] },
    { rcptMs: 2_000 },
    { become: [NO_MAILBOX], ...GOES_ON, told: ['site took 2000 ms at RCPT'] },
  ],
  [
    'a recipient is unknown',
    { verdicts: [UNKNOWN, TAKEN], accepted: 1 },
    {},
    { become: [NO_MAILBOX, DELIVERED], ...GOES_ON, told: ['delivered'] },
  ],
  [
    'the message is refused',
    { verdicts: ['dot 554 5.7.1 Spam'], accepted: 1 },
    {},
    { become: ['spam_blocked'], ...GOES_ON },
  ],
  [
    'the server takes two of three recipients at a time',
    { verdicts: [TAKEN, TAKEN, TOO_MANY], accepted: 2 },
    {},
    { become: [DELIVERED, DELIVERED, 'waits'], ...GOES_ON, atATime: 2, told: ['delivered'] },
  ],
  [
    'the server takes some, the session goes on, and no further connection may be opened',
    { verdicts: [TAKEN, TOO_MANY], accepted: 1 },
    { connections: 2 },
    { become: [DELIVERED, 'waits'], ...GOES_ON, atATime: 1, told: ['delivered'] },
  ],
  [
    'the server takes one at a time, which is unknown',
    { verdicts: [UNKNOWN, TOO_MANY, TOO_MANY] },
    {},
    { become: [NO_MAILBOX, 'waits', 'waits'], ...GOES_ON, atATime: 1 },
  ],
  [
    'the server takes some, the session is full, and a further connection may be opened',
    { verdicts: [TAKEN, TOO_MANY], accepted: 1 },
    { isFull: true },
    { become: [DELIVERED, 'waits'], ...GOES_ON, atATime: 1, told: ['delivered'] },
  ],
  [
    'the server takes some, the session is full, and no further connection may be opened',
    { verdicts: [TAKEN, TOO_MANY], accepted: 1 },
    { isFull: true, connections: 2 },
    { become: [DELIVERED, TEMPORARY], ...GOES_ON, atATime: 1, told: ['delivered'] },
  ],
  [
    'the server closes after it took some, and no further connection may be opened',
    { verdicts: [TAKEN, TOO_MANY], accepted: 1, reusable: false },
    { connections: 2 },
    { become: [DELIVERED, TEMPORARY], next: 'one two', session: 'is over', atATime: 1, told: ['delivered'] },
  ],
  [
    'a fresh session takes no recipient at all',
    { verdicts: [TOO_MANY, TOO_MANY] },
    {},
    { become: [TEMPORARY, TEMPORARY], ...GOES_ON },
  ],
  [
    'a used session takes no further recipient',
    { verdicts: [TOO_MANY, TOO_MANY] },
    { isUsed: true },
    { become: ['waits', 'waits'], next: 'one two', session: 'goes on, spent' },
  ],
  [
    'a used session takes no further recipient, and no further connection may be opened',
    { verdicts: [TOO_MANY, TOO_MANY] },
    { isUsed: true, connections: 2 },
    { become: [TEMPORARY, TEMPORARY], next: 'one two', session: 'goes on, spent' },
  ],
  [
    'a used session refuses the sender for now',
    { verdicts: ['mail 451 4.7.1 later', 'mail 451 4.7.1 later'] },
    { isUsed: true },
    { become: ['waits', 'waits'], ...GOES_ON },
  ],
  [
    'a fresh session refuses the sender for now',
    { verdicts: ['mail 451 4.7.1 later', 'mail 451 4.7.1 later'] },
    {},
    { become: [TEMPORARY, TEMPORARY], ...GOES_ON },
  ],
  [
    'a used session refuses the sender for good',
    { verdicts: ['mail 550 5.7.1 no'] },
    { isUsed: true },
    { become: ['policy_block'], ...GOES_ON },
  ],
  [
    'a used session has had enough messages at DATA',
    { verdicts: ['data 452 4.4.5 Maximum number of messages per session exceeded'], accepted: 1 },
    { isUsed: true },
    { become: ['waits'], ...GOES_ON },
  ],
  [
    'a fresh session has had enough messages at DATA',
    { verdicts: ['data 452 4.4.5 Maximum number of messages per session exceeded'], accepted: 1 },
    { hosts: [ONE] },
    { become: [TEMPORARY], next: 'one', session: 'goes on' },
  ],
  [
    'a used session has had enough messages at the dot',
    { verdicts: ['dot 452 4.5.3 Too many messages in this session'], accepted: 1 },
    { isUsed: true },
    { become: [TEMPORARY], ...GOES_ON },
  ],
  [
    'the server is in trouble over one recipient',
    { verdicts: [LOOKUP, TAKEN], accepted: 1 },
    {},
    { become: ['waits', DELIVERED], next: 'two', session: 'goes on, spent', told: ['delivered'] },
  ],
  [
    'the only server is in trouble over one recipient',
    { verdicts: [LOOKUP, TAKEN], accepted: 1 },
    { hosts: [ONE] },
    { become: [TEMPORARY, DELIVERED], next: 'one', session: 'goes on, spent', told: ['delivered'] },
  ],
  [
    'the server is in trouble at the dot',
    { verdicts: ['dot 452 4.3.1 Insufficient system storage'], accepted: 1 },
    {},
    { become: ['waits'], next: 'two', session: 'goes on, spent' },
  ],
  [
    'the dot is refused for another recipient',
    { verdicts: ['dot 550 5.1.1 User unknown', 'dot 550 5.1.1 User unknown'], accepted: 2, alone: [1] },
    {},
    { become: [NO_MAILBOX, 'waits'], ...GOES_ON },
  ],
  [
    'we send too fast',
    { verdicts: ['rcpt 450 4.7.1 sending rate exceeded'] },
    {},
    { become: [TEMPORARY], ...GOES_ON, told: ['rate since 7: 450 4.7.1 sending rate exceeded'] },
  ],
  [
    'we send too fast and the server closes',
    { verdicts: ['-'], ...failed('refused', 'mail', '421 4.7.0 too many messages, slow down') },
    {},
    {
      become: ['waits'],
      next: '',
      session: 'is over',
      told: ['rate since 7: 421 4.7.0 too many messages, slow down'],
    },
  ],
  [
    'the server closes before a verdict',
    { verdicts: ['-', '-'], ...failed('closed', 'rcpt') },
    {},
    { become: ['waits', 'waits'], ...IS_OVER },
  ],
  [
    'the server closes an idle session',
    { verdicts: ['-'], ...failed('closed', 'mail') },
    { isUsed: true },
    { become: ['waits'], next: 'one two', session: 'is over' },
  ],
  [
    'the server refuses a recipient and closes',
    { verdicts: [UNKNOWN, '-'], ...failed('closed', 'rcpt') },
    {},
    { become: [NO_MAILBOX, 'waits'], next: 'one two', session: 'is over' },
  ],
  [
    'the server knows no RCPT and closes',
    { verdicts: ['rcpt 500 5.1.1 User unknown', '-'], ...failed('closed', 'rcpt') },
    {},
    { become: [NO_MAILBOX, 'waits'], next: 'one two', session: 'is over' },
  ],
  [
    'the server lacks an extension that a recipient needs, and closes',
    { verdicts: ['ehlo', '-'], ...failed('closed', 'rcpt') },
    {},
    { become: ['policy_block', 'waits'], ...IS_OVER },
  ],
  [
    'the server closes after garbage from another one',
    { verdicts: ['-'], ...failed('closed', 'rcpt') },
    { mayNotRepeat: true },
    { become: ['waits'], ...IS_OVER },
  ],
  [
    'the server refuses a recipient for now and closes',
    { verdicts: [GREY, '-'], ...failed('closed', 'rcpt') },
    {},
    { become: [TEMPORARY, 'waits'], ...IS_OVER },
  ],
  [
    'the server refuses a recipient and falls silent',
    { verdicts: [UNKNOWN, '-'], ...failed('timeout', 'mail') },
    {},
    { become: [NO_MAILBOX, 'waits'], ...IS_OVER },
  ],
  [
    'the server ends the session over too many recipients',
    { verdicts: ['-', TOO_MANY, '-'], accepted: 1, ...failed('refused', 'rcpt', '421 4.7.0 too many errors') },
    {},
    { become: ['waits', 'waits', 'waits'], next: 'one two', session: 'is over', atATime: 1 },
  ],
  [
    'the server ends the second session over too many recipients',
    { verdicts: ['-', TOO_MANY, '-'], accepted: 1, ...failed('refused', 'rcpt', '421 4.7.0 too many errors') },
    { connections: 2 },
    { become: ['waits', TEMPORARY, 'waits'], next: '', session: 'is over', atATime: 1 },
  ],
  [
    'the server is silent after RCPT',
    { verdicts: ['-'], ...failed('timeout', 'rcpt') },
    {},
    { become: ['waits'], ...IS_OVER, told: ['one is forgetful'] },
  ],
  [
    'the server is silent after DATA',
    { verdicts: ['-'], ...failed('timeout', 'data') },
    {},
    { become: ['waits'], ...IS_OVER, told: ['one is forgetful'] },
  ],
  [
    'the server is silent after RCPT without PIPELINING',
    { verdicts: ['-'], ...failed('timeout', 'rcpt') },
    { withoutPipelining: true },
    { become: ['waits'], ...IS_OVER },
  ],
  [
    'the server is silent after MAIL',
    { verdicts: ['-'], ...failed('timeout', 'mail') },
    {},
    { become: ['waits'], ...IS_OVER },
  ],
  [
    'this service took the time of the server',
    { verdicts: ['-'], ...failed('timeout', 'mail', undefined, 0) },
    {},
    { become: ['waits, by a fault of ours'], ...IS_OVER },
  ],
  [
    'this service took the time of the server after RCPT',
    { verdicts: ['-'], ...failed('timeout', 'rcpt', undefined, 0) },
    {},
    { become: ['waits, by a fault of ours'], ...IS_OVER },
  ],
  [
    'the server is slow over each recipient',
    { verdicts: ['-', '-', UNKNOWN], ...failed('slow', 'rcpt') },
    {},
    { become: ['waits', 'waits', NO_MAILBOX], next: 'one', session: 'is over', atATime: 1, told: ['spread 2'] },
  ],
  [
    'the server talks garbage',
    { verdicts: ['-'], ...failed('garbage', 'rcpt') },
    {},
    { become: ['waits'], next: 'one', session: 'is over' },
  ],
  [
    'the server talks garbage again',
    { verdicts: ['-'], ...failed('garbage', 'rcpt') },
    { mayNotRepeat: true },
    { become: ['waits'], next: '', session: 'is over' },
  ],
  [
    'the caller leaves',
    { verdicts: ['-'], ...failed('left', 'rcpt') },
    {},
    { become: ['waits, by a fault of ours'], next: '', session: 'is over' },
  ],
])('when %s, the recipients and the next hosts are these', (_, result, before, expected) => {
  expect(after(result, before)).toEqual(expected)
})

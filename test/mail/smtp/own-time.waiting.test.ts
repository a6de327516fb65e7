import { once } from 'node:events'
import { createServer, connect as dial } from 'node:net'
import { getCACertificates, type SecureVersion, setDefaultCACertificates } from 'node:tls'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { Alarm, unblocked } from '../../../mail/smtp/alarm.ts'
import type { Engine, Site, SmtpAttempt } from '../../../mail/smtp/attempt.ts'
import type { Failure } from '../../../mail/smtp/failure.ts'
import { createOwnTime } from '../../../mail/smtp/own-time.ts'
import { demandTls } from '../../../mail/smtp/tls.ts'
import { AUTHORITY, CERTIFICATE, POLICY_AUTHORITY, SECOND_CERTIFICATE } from '../../harness/certificates.ts'
import type { Ask, Told } from '../../harness/exchanger-thread.ts'
import type { Conversations } from '../../harness/smtp-conversation.ts'
import { type Act, DEFAULT, type Verb } from '../../harness/smtp-script.ts'
import { atEndOfFile, listenUntilEnd } from '../../harness/until-end.ts'
import { takes } from '../../harness/waits.ts'
import { deliveryTo, engineWith, exchangerWith, outcomeOf, QUICK, send, siteOf } from './deliver.ts'

// Time of ours is never theirs.

beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), AUTHORITY, POLICY_AUTHORITY]))

/** Blocks the event loop, as a stop of the process does. */
function standStill(ms: number): void {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
}

const timeout = (silentMs: number): Failure => ({ kind: 'failure', phase: 'rcpt', how: 'timeout', silentMs })

test('what came while the event loop stood still is read before an alarm rings', async () => {
  const server = createServer((socket) => void socket.write('220 hello\r\n'))
  const socket = dial(await listenUntilEnd(server), '127.0.0.1')
  const seen: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const alarm = new Alarm(() => {
    seen.push('alarm')
    resolve()
  })
  socket.once('data', () => seen.push('data'))
  await once(socket, 'connect')
  alarm.set(performance.now() + 1)
  standStill(300)
  await promise
  expect(seen).toEqual(['data', 'alarm'])
  socket.destroy()
})

test('a stall counts as ours, and a short delay does not', async () => {
  await takes(60, true)
  using _ = unblocked.watch()
  const before = unblocked.stalledMs()
  const own = createOwnTime(10_000)
  standStill(700)
  expect(unblocked.stalledMs() - before).toBeGreaterThan(600)
  expect(own.blame(timeout(400), 1_000)).toMatchObject({ how: 'local' })
  expect(own.blame(timeout(200), 1_000)).toEqual(timeout(200))
})

test('a server that was silent for half of its time or more is silent, whatever we did before', async () => {
  const own = createOwnTime(30_000)
  await own.during(takes(60, true))
  fc.assert(
    fc.property(fc.nat(20_000), fc.integer({ min: 1, max: 20_000 }), (silentMs, serverMs) => {
      const { how, detail } = own.blame(timeout(silentMs), serverMs)
      if (silentMs >= serverMs / 2) expect(how).toBe('timeout')
      if (how === 'local') expect(detail).toMatch(/^waits of this service took \d/)
    }),
  )
})

test('a reply, a close or a refusal is no fault of ours, unless the server ended it because it waited for us', () => {
  const own = createOwnTime(30_000, 30_000)
  const hows = fc.constantFrom('closed', 'garbage', 'refused', 'insecure')
  fc.assert(
    fc.property(hows, fc.constantFrom(421, 450, 554), fc.nat(6_000), (how, code, keptMs) => {
      const reply = how === 'refused' ? { code, text: 'no' } : undefined
      const failure: Failure = { kind: 'failure', phase: 'rcpt', how, reply, keptMs }
      const isOurs = keptMs >= 3_000 && (how === 'closed' || how === 'refused')
      if (isOurs) expect(own.blame(failure, 10)).toMatchObject({ how: 'local', reply: undefined })
      else expect(own.blame(failure, 10)).toBe(failure)
    }),
  )
})

test('a server that had little time because the send waited for a place is not told as silent', async () => {
  let mails = 0
  const exchanger = await exchangerWith({
    mail: () => void mails++,
    rcpt: () => (mails > 1 ? 'stall' : undefined),
    dot: { after: 900, act: '250 ok' },
  })
  const site = { ...siteOf(exchanger), limits: { connections: 1, messages: 100 } }
  const engine = engineWith({ limits: { commandMs: 1_450 } })
  const first = send(engine, site)
  const second = await send(engine, site, { budgetMs: 3_000 })
  // On a busy machine no place becomes free at all.
  expect(outcomeOf(second)).toBe('our_fault')
  expect(outcomeOf(await first)).toBe('delivered')
  // Alone, the same silence is the server's.
  expect(outcomeOf(await send(engine, site, { budgetMs: 3_000 }))).toBe('connection_timeout')
})

// The law: a wait of ours of any kind, at any moment, never ends as the outcome of a recipient whose server says 250 to
// everything, and the service remembers nothing of it. The budget is short, so that each wait takes about the time that
// a server has before the dot.

const BUDGET_MS = 2_400
/** Half of it is kept for the dot. */
const SPAN_MS = BUDGET_MS / 2
/** The server takes a thirtieth of its time for each reply. */
const REPLY_MS = SPAN_MS / 30
/** A reply to RCPT or a dot that takes longer is slow, and the next transaction is for one recipient. */
const SLOW_MS = SPAN_MS * 0.55
const LIMITS = { connectMs: SPAN_MS, slowRcptMs: SLOW_MS, slowDotMs: SLOW_MS, dotMs: SPAN_MS }

const REPLIES = { ...DEFAULT, ehlo: '250-mx.test\r\n250-PIPELINING\r\n250 STARTTLS' }
const ACTS = Object.fromEntries(Object.entries(REPLIES).map(([verb, act]) => [verb, { after: REPLY_MS, act }]))
const MOMENTS = ['greeting', 'ehlo', 'starttls', 'handshake', 'mail', 'rcpt', 'data', 'dot'] as const

test('a host that our waits left no time for was not tried: the silence of the others proves nothing', async () => {
  const [silent, well] = [await exchangerWith({ greeting: 'stall' }), await exchangerWith()]
  const world = fc.record({
    left: fc.double({ min: 0.55, max: 0.9, noNaN: true }),
    more: fc.nat(2),
    isOurs: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(world, async ({ left, more, isOurs }) => {
      const engine = engineWith({ limits: { commandMs: 300 } })
      const waitedMs = QUICK.dotMs - left * 300
      const startedAtMs = performance.now() - waitedMs
      const site = siteOf(silent, ...Array(more).fill(silent), well)
      const attempt = await send(engine, site, { startedAtMs, ownMs: isOurs ? waitedMs : 0 })
      expect(outcomeOf(attempt)).toBe(isOurs ? 'our_fault' : 'connection_timeout')
    }),
    { numRuns: 10 },
  )
  expect(well.sessions).toEqual([])
})

/** The thread of the exchangers. A stall of the event loop would stall them as well. */
const thread = startThread()

function startThread() {
  const worker = new Worker(new URL('../../harness/exchanger-thread.ts', import.meta.url))
  atEndOfFile(() => worker.terminate())
  const answers: ((answer: unknown) => void)[] = []
  const listeners = new Map<number, (verb: Verb) => void>()
  worker.on('message', (told: Told) => {
    if ('answer' in told) answers.shift()?.(told.answer)
    else listeners.get(told.port)?.(told.verb)
  })
  return {
    listeners,
    ask<T>(ask: Ask): Promise<T> {
      worker.postMessage(ask)
      return new Promise<unknown>((resolve) => answers.push(resolve)) as Promise<T>
    },
  }
}

interface Run {
  engine: Engine
  site: Site
  waitMs: number
  /** Calls this once, as soon as the first server is at this moment. */
  once(stall: () => void): void
}

/** Each kind of wait: at the moment, or before the delivery where it can be nowhere else. */
const WAITS: Record<string, (run: Run) => Promise<SmtpAttempt>> = {
  'busy event loop'({ engine, site, waitMs, once }) {
    once(() => standStill(waitMs))
    return send(engine, site, { budgetMs: BUDGET_MS })
  },
  leave({ engine, site, waitMs }) {
    return send(engine, site, { budgetMs: BUDGET_MS, beforeDot: () => takes(waitMs, true) })
  },
  database({ engine, site, waitMs }) {
    return send(engine, site, { budgetMs: BUDGET_MS, startedAtMs: performance.now() - waitMs, ownMs: waitMs })
  },
  'look-up'({ engine, site, waitMs }) {
    return send(engine, site, { budgetMs: BUDGET_MS, startedAtMs: performance.now() - waitMs, lookUpMs: waitMs })
  },
  async place({ engine, site, waitMs }) {
    const first = send(engine, site, { beforeDot: () => takes(waitMs, true) })
    const attempt = await send(engine, site, { budgetMs: BUDGET_MS })
    await first
    return attempt
  },
}

interface Wait {
  kind: string
  /** Its share of the time before the dot. */
  share: number
  at: (typeof MOMENTS)[number]
  version: SecureVersion
  isDemanded: boolean
  /** How much of that time a command may take. With half of it, time is left for another try. */
  commandShare: number
}

/** The share that leaves time for this number of replies. */
const leaving = (replies: number) => 1 - (REPLY_MS * (replies + 0.5)) / SPAN_MS

const waits: fc.Arbitrary<Wait> = fc.record({
  kind: fc.constantFrom(...Object.keys(WAITS)),
  share: fc.oneof(fc.double({ min: 0.05, max: 1.3, noNaN: true }), fc.integer({ min: 0, max: 8 }).map(leaving)),
  at: fc.constantFrom(...MOMENTS),
  version: fc.constantFrom<SecureVersion[]>('TLSv1.2', 'TLSv1.3'),
  isDemanded: fc.boolean(),
  commandShare: fc.constantFrom(0.5, 1),
})

/** Two servers, the first of which is to be used. */
async function runOf({ at, version, share, isDemanded, commandShare }: Wait) {
  const tls = { ...CERTIFICATE, maxVersion: version }
  const start = (cert: object) => thread.ask<number>({ start: { acts: ACTS, tls: { ...tls, ...cert } } })
  const ports = [await start({}), await start(SECOND_CERTIFICATE)]
  const site = siteOf(...ports.map((port) => ({ host: '127.0.0.1', port })))
  const once = (stall: () => void) =>
    thread.listeners.set(ports[0]!, (verb) => {
      if (verb === at && thread.listeners.delete(ports[0]!)) stall()
    })
  const limits = { connections: 1, messages: 100 }
  const engine = engineWith({ limits: { ...LIMITS, commandMs: SPAN_MS * commandShare } })
  const run: Run = {
    engine,
    site: { ...(isDemanded ? demandTls(site, 'MTA-STS') : site), limits },
    waitMs: share * SPAN_MS,
    once,
  }
  return { run, port: ports[0]! }
}

const TWO = ['one@example.test', 'two@example.test']

test('no wait of ours, at no phase, is the outcome of a recipient, nor remembered', async () => {
  const outcomes = new Set<string>()
  const property = fc.asyncProperty(waits, async (wait) => {
    const { run, port } = await runOf(wait)
    const outcome = outcomeOf(await WAITS[wait.kind]!(run))
    outcomes.add(outcome)
    expect(['delivered', 'our_fault']).toContain(outcome)

    const recipients = TWO.map((address) => ({ address, site: run.site }))
    const attempts = await run.engine.deliver(deliveryTo(run.site, { recipients }))
    const used = {
      outcome: { kind: 'delivered' },
      mx: 'mx1.example.test',
      tls: { version: wait.version },
      transaction: 1,
    }
    expect(attempts).toMatchObject([used, used])
    const { sessions } = await thread.ask<Conversations>({ seen: port })
    const segments = sessions.flatMap((session) => session.segments)
    expect(segments).toContainEqual(expect.stringMatching(/MAIL FROM.*\r\nRCPT TO.*\r\nRCPT TO.*\r\nDATA\r\n$/))
  })
  const kinds = Object.keys(WAITS).flatMap((kind) => [0.5, 0.8].map((share) => ({ kind, share, at: 'rcpt' as const })))
  const stalls = MOMENTS.flatMap((at) => [0.55, 1.2].map((share) => ({ kind: 'busy event loop', share, at })))
  const late = ['database', 'look-up'].flatMap((kind) =>
    [0, 1, 2, 3, 4, 5].map((replies) => ({ kind, share: leaving(replies), at: 'rcpt' as const })),
  )
  const examples = [...kinds, ...stalls, ...late].map((wait, i): [Wait] => {
    const version = i % 3 > 0 ? 'TLSv1.3' : 'TLSv1.2'
    return [{ ...wait, version, isDemanded: i % 2 > 0, commandShare: wait.share > 1 ? 1 : 0.5 }]
  })
  await fc.assert(property, { numRuns: 50, examples })
  expect(outcomes).toEqual(new Set(['delivered', 'our_fault']))
})

// What a server says or does because we made it wait is no answer either: a close, or a 421 that answers no command.

const TIMED_OUT = '421 4.4.2 mx.test Error: timeout exceeded'
const GIVES_UP: Act[] = [
  'close',
  'reset',
  TIMED_OUT,
  '451 4.7.0 Timeout waiting for client input',
  '554 5.4.0 too slow',
  { raw: `${TIMED_OUT}\r\n`, act: 'close' },
]

const impatience = fc.record({
  act: fc.constantFrom(...GIVES_UP),
  /** It gives up after this reply, or over the content. */
  at: fc.constantFrom('greeting', 'ehlo', 'rcpt', 'content'),
  patienceMs: fc.integer({ min: 3_200, max: 4_000 }),
})

async function sendToImpatient({ act, at, patienceMs }: Impatience, ownMs: number): Promise<string> {
  const gives = { after: patienceMs, act }
  // With PIPELINING a 421 after the reply to RCPT would answer DATA.
  const replies = { ...DEFAULT, ehlo: '250 mx.test' }
  const replying = (verb: keyof typeof replies) => ({ raw: `${replies[verb]}\r\n`, act: gives })
  const acts = { ehlo: replies.ehlo, [at]: at === 'content' ? gives : { after: REPLY_MS, act: replying(at) } }
  const port = await thread.ask<number>({ start: { acts } })
  if (at !== 'content') thread.listeners.set(port, (verb) => verb === at && standStill(ownMs))
  const beforeDot = () => takes(at === 'content' ? ownMs : 0, true)
  const engine = engineWith({ limits: { commandMs: 8_000 } })
  return outcomeOf(await send(engine, siteOf({ host: '127.0.0.1', port }), { beforeDot }))
}
type Impatience = typeof impatience extends fc.Arbitrary<infer T> ? T : never

test('a server that gives up while the event loop is blocked has answered nothing', async () => {
  const property = fc.asyncProperty(impatience, async ({ at, ...server }) => {
    const stalled = { ...server, at: at === 'content' ? 'rcpt' : at } as const
    expect(await sendToImpatient(stalled, server.patienceMs + 500)).toBe('our_fault')
  })
  const examples = GIVES_UP.map((act, i): [Impatience] => [
    { act, at: (['greeting', 'ehlo', 'rcpt'] as const)[i % 3]!, patienceMs: 3_200 },
  ])
  await fc.assert(property, { numRuns: 6, examples })
})

test('a server that gives up while it waits for leave has answered nothing, and one that we did not keep has', async () => {
  const servers = [
    ...fc.sample(impatience, 20),
    ...GIVES_UP.map((act) => ({ act, at: 'content' as const, patienceMs: 3_200 })),
  ]
  const outcomes = servers.map(async (server) => {
    const ours = server.at === 'content' ? 'our_fault' : undefined
    const outcome = await sendToImpatient(server, ours ? server.patienceMs + 500 : 0)
    if (ours) expect([server, outcome]).toEqual([server, ours])
    else expect([server, outcome === 'our_fault']).toEqual([server, false])
  })
  await Promise.all(outcomes)
})

import { once } from 'node:events'
import { createServer, connect as dial } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Alarm, unblocked } from '../../../mail/smtp/alarm.ts'
import type { Failure } from '../../../mail/smtp/failure.ts'
import { createOwnTime } from '../../../mail/smtp/own-time.ts'
import { DEFAULT, type Script } from '../../harness/smtp-script.ts'
import { listenUntilEnd } from '../../harness/until-end.ts'
import { takes } from '../../harness/waits.ts'
import { engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

// Time of ours is never theirs.

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

test('only a lack of time can be our fault, not a reply, a close or a refusal', async () => {
  const own = createOwnTime(30_000)
  await own.during(takes(60, true))
  for (const how of ['closed', 'garbage', 'refused', 'insecure'] as const) {
    const failure: Failure = { kind: 'failure', phase: 'rcpt', how }
    expect(own.blame(failure, 10)).toBe(failure)
  }
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
// everything. The budget is short, so that each wait takes about the time that a server has before the dot.

const BUDGET_MS = 2_400
/** Half of it is kept for the dot. */
const SPAN_MS = BUDGET_MS / 2
/** The server takes a twentieth of its time for each reply. */
const REPLY_MS = SPAN_MS / 20

const replies = (at?: Moment, wait?: () => unknown): Script =>
  Object.fromEntries(
    MOMENTS.map((verb) => [
      verb,
      () => {
        if (verb === at) setImmediate(() => wait?.())
        return { after: REPLY_MS, act: DEFAULT[verb] }
      },
    ]),
  )

const MOMENTS = ['greeting', 'ehlo', 'mail', 'rcpt', 'data', 'dot'] as const
type Moment = (typeof MOMENTS)[number]

/** Each kind of wait: at the moment, or before the delivery where it can be nowhere else. */
const WAITS: Record<string, (waitMs: number, at: Moment) => Promise<string>> = {
  async 'busy event loop'(waitMs, at) {
    const site = siteOf(await exchangerWith(replies(at, () => standStill(waitMs))))
    return outcomeOf(await send(engineWith({ limits: LIMITS }), site, { budgetMs: BUDGET_MS }))
  },
  async leave(waitMs) {
    const site = siteOf(await exchangerWith(replies()))
    const beforeDot = () => takes(waitMs, true)
    return outcomeOf(await send(engineWith({ limits: LIMITS }), site, { budgetMs: BUDGET_MS, beforeDot }))
  },
  async database(waitMs) {
    const site = siteOf(await exchangerWith(replies()))
    const startedAtMs = performance.now() - waitMs
    const delivery = { budgetMs: BUDGET_MS, startedAtMs, ownMs: waitMs }
    return outcomeOf(await send(engineWith({ limits: LIMITS }), site, delivery))
  },
  async place(waitMs) {
    const exchanger = await exchangerWith(replies())
    const site = { ...siteOf(exchanger), limits: { connections: 1, messages: 100 } }
    const engine = engineWith({ limits: LIMITS })
    const first = send(engine, site, { beforeDot: () => takes(waitMs, true) })
    const outcome = outcomeOf(await send(engine, site, { budgetMs: BUDGET_MS }))
    await first
    return outcome
  },
}
/** A command may take as long as all before the dot. */
const LIMITS = { commandMs: SPAN_MS, connectMs: SPAN_MS }

const waits = fc.record({
  kind: fc.constantFrom(...Object.keys(WAITS)),
  share: fc.double({ min: 0.05, max: 1.3, noNaN: true }),
  at: fc.constantFrom(...MOMENTS),
})

test('no wait of ours, at no phase, is the outcome of a recipient', async () => {
  const outcomes = new Set<string>()
  const property = fc.asyncProperty(waits, async ({ kind, share, at }) => {
    const outcome = await WAITS[kind]!(share * SPAN_MS, at)
    outcomes.add(outcome)
    expect(['delivered', 'our_fault']).toContain(outcome)
  })
  await fc.assert(property, {
    numRuns: 30,
    examples: Object.keys(WAITS).flatMap((kind) => [0.5, 0.8].map((share) => [{ kind, share, at: 'rcpt' as const }])),
  })
  expect(outcomes).toEqual(new Set(['delivered', 'our_fault']))
})

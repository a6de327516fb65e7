import { readdir } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { letRun } from '../../harness/waits.ts'
import { harm, startVictimWorld, VICTIM_MAIL, type VictimWorld } from './victim.ts'

// One account attacks all others with recipients whose mail servers or zones do not respond.

let world: VictimWorld
beforeAll(async () => {
  world = await startVictimWorld()
})

/**
 * Allows for the work of reading four batches at once. A victim that waits for a connection or a look-up waits for
 * seconds.
 */
const BARS = { sends: { factor: 3, plusMs: 1_500 }, healthz: { factor: 3, plusMs: 750 } }
const ATTACK_MS = 12_000
const BATCHES = 4
const BATCH = 100

type To = (message: number) => string[]

/**
 * Sends concurrent batches until the time is over, then leaves. Counts the outcomes. `during` runs at the same time.
 */
async function sendBatches(to: To, during: () => Promise<unknown> = async () => {}): Promise<Map<string, number>> {
  const outcomes = new Map<string, number>()
  const stopping = new AbortController()
  let sent = 0
  async function batches(): Promise<void> {
    while (!stopping.signal.aborted) {
      const emails = Array.from({ length: BATCH }, () => email('a@example.test', to(sent++)))
      const response = await post('/api/v1/emails/batch', world.attacker.key, { emails }, stopping.signal).catch(
        () => undefined,
      )
      for (const { status, error, reason } of response?.body.results ?? []) {
        const outcome = error ?? reason ?? status
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    }
  }
  const flood = Promise.all(Array.from({ length: BATCHES }, batches))
  await Promise.all([letRun(ATTACK_MS), during()])
  stopping.abort()
  await flood
  console.log('outcomes of the attacker', Object.fromEntries(outcomes))
  return outcomes
}

const email = (from: string, to: string[]) => ({ from, to, subject: 'Hello', text: 'All is well.' })

// biome-ignore lint/suspicious/noExplicitAny: the JSON of the service.
async function post(path: string, key: string, body: object, signal?: AbortSignal): Promise<{ ms: number; body: any }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const beganMs = performance.now()
  const response = await fetch(`${world.api.url}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal,
  })
  return { body: await response.json(), ms: performance.now() - beganMs }
}

/** Sends the victim's emails one after the other. Returns their outcomes. */
async function victimSends(
  count: number,
  to: (i: number) => string,
): Promise<{ outcomes: string[]; slowestMs: number }> {
  const outcomes: string[] = []
  let slowestMs = 0
  for (let i = 0; i < count; i++) {
    const { ms, body } = await post('/api/v1/emails/send', world.victim.key, email('b@victim.test', [to(i)]))
    outcomes.push(body.error ?? body.reason ?? body.status)
    slowestMs = Math.max(slowestMs, ms)
  }
  return { outcomes, slowestMs }
}

test.each(['slow', 'hangs'])(
  'batches to recipients whose server is %s harm no other account that sends to the same server',
  async (kind) => {
    const comparison = await world.compare(() => sendBatches((i) => [`${kind}.${i}@${VICTIM_MAIL}`]))
    expect(harm(comparison, BARS)).toEqual([])
  },
)

test('messages to fifty silent domains each harm no other account, and open a bounded number of look-ups', async () => {
  const { dns } = world.world
  const unknown = (phase: string) => victimSends(12, (i) => `ann@${phase}-${i}.gone.net`)
  let calm: Awaited<ReturnType<typeof unknown>> | undefined
  let attacked: typeof calm
  let peak = 0
  const comparison = await world.compare(async () => {
    const peakTimer = setInterval(async () => {
      const open = await readdir(`/proc/${world.api.pid}/fd`).catch(() => [])
      peak = Math.max(peak, open.length)
    }, 100)
    calm = await unknown('calm')
    for (let i = 0; i < 12; i++) dns.zone[`MX attacked-${i}.gone.net`] = 'nxdomain'
    dns.zone['*'] = 'silence'
    const fifty = (message: number) => Array.from({ length: 50 }, (_, i) => `ann@silent-${message}-${i}.net`)
    await sendBatches(fifty, async () => {
      await letRun(2_000)
      attacked = await unknown('attacked')
    }).finally(() => clearInterval(peakTimer))
    delete dns.zone['*']
  })
  expect(harm(comparison, BARS)).toEqual([])
  expect(attacked!.outcomes).toEqual(calm!.outcomes)
  // Three times as slow as in the calm, and half a second of chance.
  expect(attacked!.slowestMs).toBeLessThan(3 * calm!.slowestMs + 500)
  console.log(`at most ${peak} descriptors`)
  expect(peak).toBeLessThan(900)
})

test('batches to connection_timeout@simulator.test harm no other account, even one that uses the simulator', async () => {
  const simulated = () =>
    victimSends(4, (i) => (i % 2 ? 'delivered@simulator.test' : 'connection_timeout@simulator.test'))
  let calm: Awaited<ReturnType<typeof simulated>> | undefined
  let attacked: typeof calm
  const comparison = await world.compare(async () => {
    calm = await simulated()
    await sendBatches(
      (i) => [`connection_timeout+${i}@simulator.test`],
      async () => {
        await letRun(1_000)
        attacked = await simulated()
      },
    )
  })
  expect(harm(comparison, BARS)).toEqual([])
  expect(attacked!.outcomes).toEqual(['connection_timeout', 'delivered', 'connection_timeout', 'delivered'])
  // A second of chance. Behind the attacker's silences a send would wait for many.
  expect(attacked!.slowestMs).toBeLessThan(calm!.slowestMs + 1_000)
})

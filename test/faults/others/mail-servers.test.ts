import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { harm, startVictimWorld, VICTIM_MAIL, type VictimWorld } from './victim.ts'

// One account against all others, by way of mail servers and zones that do not answer.

let world: VictimWorld
afterEach(() => world.stop())

/** For the work of reading four batches at once; a victim who has to wait for a connection or a look-up waits for seconds. */
const BARS = { sends: { factor: 3, plusMs: 1_500 }, healthz: { factor: 3, plusMs: 750 } }
const ATTACK_MS = 12_000
const BATCHES = 4
const BATCH = 100

type To = (message: number) => string[]

/** Batches side by side, again and again until the time is over; then their caller leaves. Gives what they were answered. */
async function sendBatches(to: To, meanwhile: () => Promise<unknown> = async () => {}): Promise<Map<string, number>> {
  const words = new Map<string, number>()
  const stopping = new AbortController()
  let sent = 0
  async function batches(): Promise<void> {
    while (!stopping.signal.aborted) {
      const emails = Array.from({ length: BATCH }, () => email('a@example.test', to(sent++)))
      const answer = await post('/api/v1/emails/batch', world.attacker.key, { emails }, stopping.signal).catch(
        () => undefined,
      )
      for (const { status, error, reason } of answer?.body.results ?? []) {
        const word = error ?? reason ?? status
        words.set(word, (words.get(word) ?? 0) + 1)
      }
    }
  }
  const flood = Promise.all(Array.from({ length: BATCHES }, batches))
  await Promise.all([sleep(ATTACK_MS), meanwhile()])
  stopping.abort()
  await flood
  console.log('the attacker was answered', Object.fromEntries(words))
  return words
}

const email = (from: string, to: string[]) => ({ from, to, subject: 'Hello', text: 'All is well.' })

// biome-ignore lint/suspicious/noExplicitAny: JSON of the service.
async function post(path: string, key: string, body: object, signal?: AbortSignal): Promise<{ ms: number; body: any }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const beganMs = performance.now()
  const answer = await fetch(`${world.api.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal })
  return { body: await answer.json(), ms: performance.now() - beganMs }
}

/** What the victim is answered, one email after the other. */
async function victimSends(count: number, to: (i: number) => string): Promise<{ words: string[]; slowestMs: number }> {
  const words: string[] = []
  let slowestMs = 0
  for (let i = 0; i < count; i++) {
    const { ms, body } = await post('/api/v1/emails/send', world.victim.key, email('b@victim.test', [to(i)]))
    words.push(body.error ?? body.reason ?? body.status)
    slowestMs = Math.max(slowestMs, ms)
  }
  return { words, slowestMs }
}

test.each(['slow', 'hangs'])(
  'batches to recipients whose server is %s harm no other account that sends to the same server',
  async (kind) => {
    world = await startVictimWorld()
    const compared = await world.compare(() => sendBatches((i) => [`${kind}.${i}@${VICTIM_MAIL}`]))
    expect(harm(compared, BARS)).toEqual([])
  },
)

test('messages to fifty silent domains each harm no other account, and their look-ups are bounded', async () => {
  world = await startVictimWorld()
  const { dns } = world.world
  const unknown = (phase: string) => victimSends(12, (i) => `ann@${phase}-${i}.gone.net`)
  let calm: Awaited<ReturnType<typeof unknown>> | undefined
  let attacked: typeof calm
  let peak = 0
  const compared = await world.compare(async () => {
    const looking = setInterval(async () => {
      const open = await readdir(`/proc/${world.api.pid}/fd`).catch(() => [])
      peak = Math.max(peak, open.length)
    }, 100)
    calm = await unknown('calm')
    for (let i = 0; i < 12; i++) dns.zone[`MX attacked-${i}.gone.net`] = 'nxdomain'
    dns.zone['*'] = 'silence'
    const fifty = (message: number) => Array.from({ length: 50 }, (_, i) => `ann@silent-${message}-${i}.net`)
    await sendBatches(fifty, async () => {
      await sleep(2_000)
      attacked = await unknown('attacked')
    }).finally(() => clearInterval(looking))
  })
  expect(harm(compared, BARS)).toEqual([])
  expect(attacked!.words).toEqual(calm!.words)
  expect(attacked!.slowestMs).toBeLessThan(3 * calm!.slowestMs + 500)
  console.log(`at most ${peak} descriptors`)
  expect(peak).toBeLessThan(900)
})

test('batches to connection_timeout@simulator.test harm no other account, nor its own use of the simulator', async () => {
  world = await startVictimWorld()
  const simulated = () =>
    victimSends(4, (i) => (i % 2 ? 'delivered@simulator.test' : 'connection_timeout@simulator.test'))
  let calm: Awaited<ReturnType<typeof simulated>> | undefined
  let attacked: typeof calm
  const compared = await world.compare(async () => {
    calm = await simulated()
    await sendBatches(
      (i) => [`connection_timeout+${i}@simulator.test`],
      async () => {
        await sleep(1_000)
        attacked = await simulated()
      },
    )
  })
  expect(harm(compared, BARS)).toEqual([])
  expect(attacked!.words).toEqual(['connection_timeout', 'delivered', 'connection_timeout', 'delivered'])
  expect(attacked!.slowestMs).toBeLessThan(calm!.slowestMs + 1_000)
})

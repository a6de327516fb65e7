import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { type Answer, type Receiver, startReceiver } from '../../harness/receiver.ts'
import { type Bar, harm, startVictimWorld, type VictimWorld } from './victim.ts'

// Endpoints of some accounts against all others: what each does to the victim's sends, first attempts and health checks.

let world: VictimWorld
const ends: (() => unknown)[] = []
afterEach(async () => {
  await world.stop()
  for (const end of ends.splice(0)) await end()
})

const ATTACK_MS = 12_000
/** For attacks that hold slots or connections, and cost the machine little. On a quiet one a first attempt takes some 10 ms. */
const FIRST_ATTEMPTS: Bar = { factor: 3, plusMs: 220 }
/** Events of an attacker when the attack begins, and in each second of it. */
const STORED = 200
const PER_SECOND = 20
const BATCH = 50
/** So many are acknowledged at once, so that many are made at a time from then on. */
const ACKNOWLEDGED = 50

const ATTACKS: [what: string, accounts: number, answer: Answer, bars?: { firstAttempts: Bar }][] = [
  ['acknowledge at once and drip the body', 4, { fault: 'drip_body', everyMs: 200 }, { firstAttempts: FIRST_ATTEMPTS }],
  ['acknowledge after 4.7 s', 5, { delayMs: 4_700 }, { firstAttempts: FIRST_ATTEMPTS }],
  ['never answer', 5, { fault: 'hang' }, { firstAttempts: FIRST_ATTEMPTS }],
  ['drip the head', 5, { fault: 'drip_head', everyMs: 200 }],
  ['redirect', 5, { status: 307, headers: { location: 'http://127.0.0.1:1/' } }],
  ['send headers without end', 5, { fault: 'huge_head' }],
]

test.each(ATTACKS)('endpoints that %s harm no other account', async (_, accounts, answer, bars) => {
  world = await startVictimWorld()
  const attackers = await Promise.all(
    Array.from({ length: accounts }, async (_, i) => {
      const receiver = await startReceiver()
      ends.push(receiver.close)
      return { receiver, ...(await attackerOf(`attacker-${i}.test`, receiver.url)) }
    }),
  )
  const attack = async () => {
    await Promise.all(attackers.map(({ receiver, send }) => quickFirst(receiver, answer, send)))
    await keepSending(attackers)
  }
  expect(harm(await world.compare(attack), bars)).toEqual([])
  expect(await failedOfVictim()).toEqual([])
})

test('endpoints that never read what is sent to them harm no other account', async () => {
  world = await startVictimWorld()
  const sockets = new Set<Socket>()
  const deaf = createServer({ pauseOnConnect: true }, (socket) => sockets.add(socket.on('error', () => {})))
  await once(deaf.listen(0, '127.0.0.1'), 'listening')
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    deaf.close()
  })
  const url = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}/`
  const attackers = await Promise.all([0, 1, 2, 3, 4].map((i) => attackerOf(`attacker-${i}.test`, url)))
  const attack = async () => {
    await Promise.all(attackers.map(({ send }) => send(STORED)))
    await keepSending(attackers)
  }
  expect(harm(await world.compare(attack))).toEqual([])
  expect(await failedOfVictim()).toEqual([])
})

test('endpoints on the same host and port that answer late take no connection from another account', async () => {
  world = await startVictimWorld()
  const late = new URL('/late', world.victim.hookUrl).href
  const attackers = await Promise.all(Array.from({ length: 8 }, (_, i) => attackerOf(`attacker-${i}.test`, late)))
  const attack = async () => {
    await Promise.all(attackers.map(({ send }) => send(STORED / 2)))
    await keepSending(attackers)
  }
  expect(harm(await world.compare(attack), { firstAttempts: FIRST_ATTEMPTS })).toEqual([])
  expect(await failedOfVictim()).toEqual([])
})

/** An account with an endpoint. Its events are those of sends that need no mail server. */
async function attackerOf(domain: string, url: string) {
  const { key } = await world.world.openAccount(domain)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const call = async (method: string, path: string, body: object) => {
    const response = await fetch(`${world.api.url}${path}`, { method, headers, body: JSON.stringify(body) })
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  }
  await call('PUT', '/api/v1/webhook', { url })
  const email = { from: `hello@${domain}`, to: 'invalid_address@simulator.test', subject: 'Hello', text: 'Hello' }

  async function send(count: number): Promise<void> {
    for (let left = count; left > 0; left -= BATCH)
      await call('POST', '/api/v1/emails/batch', { emails: Array(Math.min(left, BATCH)).fill(email) })
  }
  return { send }
}

type Attacker = Awaited<ReturnType<typeof attackerOf>>

/** The endpoint acknowledges its first events soon, while many wait, and then answers as it means to. */
async function quickFirst(receiver: Receiver, answer: Answer, send: Attacker['send']): Promise<void> {
  receiver.script = () => (receiver.requests.length < ACKNOWLEDGED ? { delayMs: 20 } : answer)
  await send(STORED)
}

async function keepSending(attackers: Attacker[]): Promise<void> {
  const untilMs = performance.now() + ATTACK_MS
  while (performance.now() < untilMs) {
    await Promise.all([sleep(1_000), ...attackers.map(({ send }) => send(PER_SECOND))])
  }
}

/** The victim's attempts that were not acknowledged, and its dispatches that were left to a workflow. */
async function failedOfVictim() {
  const { sql } = world.world
  const attempts = await sql`
    select a.number, a.outcome from attempts a join dispatches d on d.id = a.dispatch_id
    where d.account_id = ${world.victim.id} and a.outcome <> 'acked'`
  const left = await sql`
    select id, attempt from open_dispatches where account_id = ${world.victim.id} and lease_until is null`
  return [...attempts, ...left]
}

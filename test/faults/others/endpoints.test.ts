import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { type Receiver, type ScriptedResponse, startReceiver } from '../../harness/receiver.ts'
import { type Bar, harm, startVictimWorld, type VictimWorld } from './victim.ts'

// Endpoints of some accounts against all others: what each does to the victim's sends, first attempts and health checks.

let world: VictimWorld
const ends: (() => unknown)[] = []
afterEach(async () => {
  await world.stop()
  for (const end of ends.splice(0)) await end()
})

const ROUND_MS = 10_000
/** Beside the same events to endpoints that acknowledge them at once. On a quiet machine a first attempt takes some 10 ms. */
const FIRST_ATTEMPTS: Bar = { factor: 3, plusMs: 220 }
/** Events of an attacker when a round begins, and in each second of it. */
const STORED = 120
const PER_SECOND = 20
/** So many are acknowledged at once, so that many are made at a time when the attack begins. */
const ACKNOWLEDGED = 50

const ATTACKS: [what: string, accounts: number, answer: ScriptedResponse][] = [
  ['acknowledge at once and drip the body', 4, { fault: 'drip_body', everyMs: 200 }],
  ['acknowledge after 4.7 s', 5, { delayMs: 4_700 }],
  ['never answer', 5, { fault: 'hang' }],
  ['drip the head', 5, { fault: 'drip_head', everyMs: 200 }],
  ['redirect', 5, { status: 307, headers: { location: 'http://127.0.0.1:1/' } }],
  ['send headers without end', 5, { fault: 'huge_head' }],
]

test.each(ATTACKS)('endpoints that %s harm no other account', async (_, accounts, answer) => {
  const attackers = await openAttackers(accounts)
  const attack = () => {
    for (const { receiver } of attackers) misbehave(receiver, answer)
    return round(attackers)
  }
  expect(await harmOf(attack, () => round(attackers))).toEqual([])
})

test('endpoints that never read what is sent to them harm no other account', async () => {
  const attackers = await openAttackers(5)
  const url = await startDeaf()
  const attack = async () => {
    await Promise.all(attackers.map(({ aim }) => aim(url)))
    await round(attackers)
  }
  expect(await harmOf(attack, () => round(attackers))).toEqual([])
})

test('endpoints on the same host and port that answer late take no connection from another account', async () => {
  const attackers = await openAttackers(8)
  const late = new URL('/late', world.victim.hookUrl).href
  const attack = async () => {
    await Promise.all(attackers.map(({ aim }) => aim(late)))
    await round(attackers)
  }
  expect(await harmOf(attack, () => round(attackers))).toEqual([])
})

type Attacker = Awaited<ReturnType<typeof openAttackers>>[number]

/** Accounts with an endpoint each, which acknowledges. Their events are those of sends that need no mail server. */
async function openAttackers(count: number) {
  world = await startVictimWorld()
  return Promise.all(Array.from({ length: count }, (_, i) => openAttacker(`attacker-${i}.test`)))
}

async function openAttacker(domain: string) {
  const receiver = await startReceiver()
  ends.push(receiver.close)
  const { key } = await world.world.openAccount(domain)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const email = { from: `hello@${domain}`, to: 'invalid_address@simulator.test', subject: 'Hello', text: 'Hello' }

  async function call(method: string, path: string, body: object): Promise<void> {
    const response = await fetch(`${world.api.url}${path}`, { method, headers, body: JSON.stringify(body) })
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  }
  const aim = (url: string) => call('PUT', '/api/v1/webhook', { url })
  await aim(receiver.url)
  const send = (count: number) => call('POST', '/api/v1/emails/batch', { emails: Array(count).fill(email) })
  return { receiver, aim, send }
}

/** The endpoint acknowledges some more events at once, while others wait, and then answers as it means to. */
function misbehave(receiver: Receiver, answer: ScriptedResponse): void {
  const until = receiver.requests.length + ACKNOWLEDGED
  receiver.script = () => (receiver.requests.length < until ? { delayMs: 20 } : answer)
}

async function round(attackers: Attacker[]): Promise<void> {
  const untilMs = performance.now() + ROUND_MS
  const sendAll = (count: number) => Promise.all(attackers.map(({ send }) => send(count)))
  await sendAll(STORED / 2)
  await sendAll(STORED / 2)
  while (performance.now() < untilMs) await Promise.all([sleep(1_000), sendAll(PER_SECOND)])
}

/** The URL of a server that accepts connections and reads nothing. */
async function startDeaf(): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer({ pauseOnConnect: true }, (socket) => sockets.add(socket.on('error', () => {})))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** What the victim noticed of an attack, beside a round in which the same accounts do nothing wrong. */
async function harmOf(attack: () => Promise<void>, calm: () => Promise<void>) {
  const harmed = harm(await world.compare(attack, calm), { firstAttempts: FIRST_ATTEMPTS })
  return [...harmed, ...(await failedOfVictim())]
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

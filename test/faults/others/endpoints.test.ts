import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { type Receiver, type ScriptedResponse, startReceiver } from '../../harness/receiver.ts'
import { letRun } from '../../harness/waits.ts'
import { type Bar, harm, startVictimWorld, type VictimWorld } from './victim.ts'

// The endpoints of some accounts attack all others. Each test measures the victim's sends, first attempts and health
// checks.

let world: VictimWorld
const cleanups: (() => unknown)[] = []
beforeAll(async () => {
  world = await startVictimWorld()
})
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0)) await cleanUp()
})

const CALM_MS = 5_000
const ATTACK_MS = 10_000
/**
 * How much longer the victim's first attempts may take than in the calm round. On a quiet machine one takes about 10
 * ms.
 */
const FIRST_ATTEMPTS: Bar = { factor: 3, plusMs: 220 }
/** An attacker's events at the start of a round, and then in each second of it. */
const AT_START = 120
const PER_SECOND = 20
/** This number of events is acknowledged first, which lets many attempts of the attacker run concurrently. */
const ACKNOWLEDGED_FIRST = 50

const ATTACKS: [what: string, accounts: number, response: ScriptedResponse][] = [
  ['acknowledge at once and drip the body', 4, { fault: 'drip_body', everyMs: 200 }],
  ['acknowledge after 4.7 s', 5, { delayMs: 4_700 }],
  ['never respond', 5, { fault: 'hang' }],
  ['drip the head', 5, { fault: 'drip_head', everyMs: 200 }],
  ['redirect', 5, { status: 307, headers: { location: 'http://127.0.0.1:1/' } }],
  ['send headers without end', 5, { fault: 'huge_head' }],
]

test.each(ATTACKS)('endpoints that %s harm no other account', async (_, accounts, response) => {
  const attackers = await openAttackers(accounts)
  const attack = () => {
    for (const { receiver } of attackers) misbehave(receiver, response)
    return round(attackers, ATTACK_MS)
  }
  expect(await harmOf(attack, () => round(attackers, CALM_MS))).toEqual([])
})

test('endpoints that never read their requests harm no other account', async () => {
  const attackers = await openAttackers(5)
  const url = await startUnreadServer()
  const attack = async () => {
    await Promise.all(attackers.map(({ setEndpoint }) => setEndpoint(url)))
    await round(attackers, ATTACK_MS)
  }
  expect(await harmOf(attack, () => round(attackers, CALM_MS))).toEqual([])
})

test('slow endpoints on the same host and port take no connection from another account', async () => {
  const attackers = await openAttackers(8)
  const late = new URL('/late', world.victim.hookUrl).href
  const attack = async () => {
    await Promise.all(attackers.map(({ setEndpoint }) => setEndpoint(late)))
    await round(attackers, ATTACK_MS)
  }
  expect(await harmOf(attack, () => round(attackers, CALM_MS))).toEqual([])
})

type Attacker = Awaited<ReturnType<typeof openAttackers>>[number]

let opened = 0

/** Opens accounts, each with an endpoint that acknowledges. Their events come from sends that need no mail server. */
async function openAttackers(count: number) {
  return Promise.all(Array.from({ length: count }, () => openAttacker(`attacker-${++opened}.test`)))
}

async function openAttacker(domain: string) {
  const receiver = await startReceiver()
  const { key } = await world.world.openAccount(domain)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const email = { from: `hello@${domain}`, to: 'invalid_address@simulator.test', subject: 'Hello', text: 'Hello' }

  async function call(method: string, path: string, body?: object): Promise<void> {
    const response = await fetch(`${world.api.url}${path}`, { method, headers, body: JSON.stringify(body) })
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  }
  const setEndpoint = (url: string) => call('PUT', '/api/v1/webhook', { url })
  await setEndpoint(receiver.url)
  // What waits for an attempt ends with the endpoint, and so does not disturb the next test.
  cleanups.push(() => call('DELETE', '/api/v1/webhook'), receiver.close)
  const send = (count: number) => call('POST', '/api/v1/emails/batch', { emails: Array(count).fill(email) })
  return { receiver, setEndpoint, send }
}

/** Lets the endpoint acknowledge some more events at once, while others wait, and then respond as scripted. */
function misbehave(receiver: Receiver, response: ScriptedResponse): void {
  const until = receiver.requests.length + ACKNOWLEDGED_FIRST
  receiver.script = () => (receiver.requests.length < until ? { delayMs: 20 } : response)
}

/** Makes events of the attackers for this long. */
async function round(attackers: Attacker[], forMs: number): Promise<void> {
  const untilMs = performance.now() + forMs
  const sendAll = (count: number) => Promise.all(attackers.map(({ send }) => send(count)))
  await sendAll(AT_START / 2)
  await sendAll(AT_START / 2)
  while (performance.now() < untilMs) await Promise.all([letRun(1_000), sendAll(PER_SECOND)])
}

/** Starts a server that accepts connections and reads nothing. Returns its URL. */
async function startUnreadServer(): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer({ pauseOnConnect: true }, (socket) => sockets.add(socket.on('error', () => {})))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** How the attack harmed the victim, compared with a round in which the same accounts behave well. */
async function harmOf(attack: () => Promise<void>, calmRound: () => Promise<void>) {
  const { sql } = world.world
  const [now] = await sql`select clock_timestamp() as since`
  const harms = harm(await world.compare(attack, calmRound), { firstAttempts: FIRST_ATTEMPTS })
  return [...harms, ...(await failuresOfVictim(now!.since))]
}

/** The victim's attempts that were not acknowledged, and its dispatches that were left to a workflow. */
async function failuresOfVictim(since: Date) {
  const { sql } = world.world
  const attempts = await sql`
    select a.number, a.outcome from attempts a join dispatches d on d.id = a.dispatch_id
    where d.account_id = ${world.victim.id} and d.created_at >= ${since} and a.outcome <> 'acked'`
  const leftToWorkflow = await sql`
    select id, attempt from open_dispatches
    where account_id = ${world.victim.id} and created_at >= ${since} and lease_until is null`
  return [...attempts, ...leftToWorkflow]
}

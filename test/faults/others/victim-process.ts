import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { startExchanger } from '../../harness/exchanger.ts'
import { startReceiver } from '../../harness/receiver.ts'

// `node victim-process.ts`: an account that uses the service while another one attacks it. It has a mail server, a webhook receiver
// and an event loop of its own, so nothing the attacker does in the test's process delays what it measures. Talks over IPC.

/** What the parent says, in this order: `begin` once, then any number of phases, then `report` once. */
export type ToVictim =
  | { begin: { url: string; key: string; from: string; domain: string } }
  /** The name of what happens from now on. A sample belongs to the phase in which it began; `null`: it is not kept. */
  | { phase: string | null }
  | { report: true }

export type FromVictim = { mailPort: number; hookUrl: string } | { begun: true } | { samples: Sample[] }

export interface Sample {
  phase: string
  kind: 'send' | 'firstAttempt' | 'healthz'
  /** A send until its response, a first attempt from that response to its arrival, `/healthz` until its response. */
  ms: number
  /** Why it counts as failed. */
  fault?: string
}

const SEND_EVERY_MS = 100
const HEALTHZ_EVERY_MS = 50
/** Longer than the service may take for any of them. */
const GIVE_UP_MS = 60_000

const samples: Sample[] = []
let phase: string | null = null
/** Answers at once, but for recipients named `slow...` after 4 s and for those named `hangs...` never. */
const mail = await startExchanger({
  rcpt(line) {
    if (line.includes('<hangs')) return 'stall'
    return line.includes('<slow') ? { after: 4_000, act: '250 2.1.5 ok' } : undefined
  },
})
const receiver = await startReceiver()
/** By message. */
const arrivedAt = new Map<string, { atMs: Promise<number>; arrived(): void }>()
receiver.script = ({ path, body }) => {
  // What an attacker has on the same host and port.
  if (path === '/late') return { delayMs: 4_700 }
  const { message_id } = JSON.parse(body.toString()) as { message_id: string }
  arrivalOf(message_id).arrived()
  return {}
}
const pending = new Set<Promise<void>>()

process.on('message', async (told: ToVictim) => {
  if ('phase' in told) phase = told.phase
  else if ('begin' in told) {
    await begin(told.begin)
    say({ begun: true })
  } else {
    phase = null
    await Promise.all(pending)
    say({ samples })
  }
})
process.on('disconnect', () => process.exit())
say({ mailPort: mail.port, hookUrl: receiver.url })

async function begin({ url, key, from, domain }: { url: string; key: string; from: string; domain: string }) {
  const agent = new http.Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const put = await ask(url, { agent, method: 'PUT', path: '/api/v1/webhook', headers }, { url: receiver.url })
  if (put.status !== 200) throw new Error(`the webhook: ${put.status} ${put.body}`)
  let sent = 0

  async function send(into: string): Promise<void> {
    const email = { from, to: `ann.${++sent}@${domain}`, subject: 'Hello', text: 'All is well.' }
    const beganMs = performance.now()
    const answer = await ask(url, { agent, method: 'POST', path: '/api/v1/emails/send', headers }, email)
    const endedMs = performance.now()
    const { status, message_id } = answer.status === 200 ? JSON.parse(answer.body) : {}
    const fault = status === 'delivered' ? undefined : `${answer.status} ${answer.body}`
    samples.push({ phase: into, kind: 'send', ms: endedMs - beganMs, fault })
    if (fault) return
    const arrived = await Promise.race([arrivalOf(message_id).atMs, sleep(GIVE_UP_MS, undefined, { ref: false })])
    const ms = Math.max(0, (arrived ?? performance.now()) - endedMs)
    samples.push({ phase: into, kind: 'firstAttempt', ms, fault: arrived === undefined ? 'never came' : undefined })
  }

  async function healthz(into: string): Promise<void> {
    const beganMs = performance.now()
    const { status, body } = await ask(url, { agent, path: '/healthz' })
    const fault = status === 200 ? undefined : `${status} ${body}`
    samples.push({ phase: into, kind: 'healthz', ms: performance.now() - beganMs, fault })
  }

  // At a steady pace, whatever becomes of those before: a service that stalls delays all that come meanwhile.
  every(SEND_EVERY_MS, send)
  every(HEALTHZ_EVERY_MS, healthz)
}

function every(ms: number, act: (phase: string) => Promise<void>): void {
  setInterval(() => {
    if (phase === null) return
    const acting = act(phase).finally(() => pending.delete(acting))
    pending.add(acting)
  }, ms)
}

/** The POST of a message's event, which may come before the response of its send. */
function arrivalOf(messageId: string) {
  let entry = arrivedAt.get(messageId)
  if (!entry) {
    const { promise: atMs, resolve } = Promise.withResolvers<number>()
    entry = { atMs, arrived: () => resolve(performance.now()) }
    arrivedAt.set(messageId, entry)
  }
  return entry
}

function ask(url: string, options: http.RequestOptions, body?: object): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const failed = (error: Error) => resolve({ status: 0, body: error.message })
    const request = http.request(url, { ...options, timeout: GIVE_UP_MS }, async (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', failed)
      response.on('end', () => resolve({ status: response.statusCode!, body: text }))
    })
    request.on('error', failed)
    request.on('timeout', () => request.destroy(new Error(`no response within ${GIVE_UP_MS / 1_000} s`)))
    request.end(body && JSON.stringify(body))
  })
}

function say(message: FromVictim): void {
  process.send!(message)
}

import http from 'node:http'
import { startExchanger } from '../../harness/exchanger.ts'
import { startReceiver } from '../../harness/receiver.ts'
import { within } from '../../harness/waits.ts'

// `node victim-process.ts` is an account that uses the service while another one attacks it. It has its own mail
// server, webhook receiver and event loop, so the attacker in the test's process does not delay its measurements. It
// talks to the test over IPC.

/** The messages of the parent: `begin` once, then `measure` and `report` in turn. */
export type ToVictim =
  | { begin: { url: string; key: string; from: string; domain: string } }
  | { measure: true }
  /** Ends the measurement. The samples are reported as soon as its last request has ended. */
  | { report: true }

export type FromVictim = { mailPort: number; hookUrl: string } | { begun: true } | { samples: Sample[] }

export interface Sample {
  kind: 'send' | 'firstAttempt' | 'healthz'
  /**
   * The time of a send until its response, of a first attempt from that response to its arrival, of `/healthz` until
   * its response.
   */
  ms: number
  /** Why the sample counts as failed. */
  fault?: string
}

const SEND_EVERY_MS = 100
const HEALTHZ_EVERY_MS = 50
/** Longer than the service may take for any of these requests. */
const TIMEOUT_MS = 60_000

const samples: Sample[] = []
let isMeasuring = false
/** Replies at once, except after 4 s for recipients named `slow...` and never for those named `hangs...`. */
const mail = await startExchanger({
  rcpt(line) {
    if (line.includes('<hangs')) return 'stall'
    return line.includes('<slow') ? { after: 4_000, act: '250 2.1.5 ok' } : undefined
  },
})
const receiver = await startReceiver()
/** The arrivals of events, by message id. */
const arrivals = new Map<string, { atMs: Promise<number>; resolve(): void }>()
receiver.script = ({ path, body }) => {
  // The endpoint of an attacker on the same host and port.
  if (path === '/late') return { delayMs: 4_700 }
  const { message_id } = JSON.parse(body.toString()) as { message_id: string }
  arrivalOf(message_id).resolve()
  return {}
}
const pending = new Set<Promise<void>>()
const agent = new http.Agent({ keepAlive: true })

process.on('message', async (message: ToVictim) => {
  if ('measure' in message) isMeasuring = true
  else if ('begin' in message) {
    await begin(message.begin)
    say({ begun: true })
  } else {
    isMeasuring = false
    await Promise.all(pending)
    // No connection stays idle until the next measurement: the service closes it just when it is used again.
    agent.destroy()
    say({ samples: samples.splice(0) })
  }
})
process.on('disconnect', () => process.exit())
say({ mailPort: mail.port, hookUrl: receiver.url })

async function begin({ url, key, from, domain }: { url: string; key: string; from: string; domain: string }) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const put = await call(url, { agent, method: 'PUT', path: '/api/v1/webhook', headers }, { url: receiver.url })
  if (put.status !== 200) throw new Error(`the webhook: ${put.status} ${put.body}`)
  let sent = 0

  async function send(): Promise<void> {
    const email = { from, to: `ann.${++sent}@${domain}`, subject: 'Hello', text: 'All is well.' }
    const beganMs = performance.now()
    const response = await call(url, { agent, method: 'POST', path: '/api/v1/emails/send', headers }, email)
    const endedMs = performance.now()
    const { status, message_id } = response.status === 200 ? JSON.parse(response.body) : {}
    const fault = status === 'delivered' ? undefined : `${response.status} ${response.body}`
    samples.push({ kind: 'send', ms: endedMs - beganMs, fault })
    if (fault) return
    const arrivedMs = await within(TIMEOUT_MS, arrivalOf(message_id).atMs, undefined)
    const ms = Math.max(0, (arrivedMs ?? performance.now()) - endedMs)
    samples.push({ kind: 'firstAttempt', ms, fault: arrivedMs === undefined ? 'never arrived' : undefined })
  }

  async function healthz(): Promise<void> {
    const beganMs = performance.now()
    const { status, body } = await call(url, { agent, path: '/healthz' })
    const fault = status === 200 ? undefined : `${status} ${body}`
    samples.push({ kind: 'healthz', ms: performance.now() - beganMs, fault })
  }

  // The pace is steady and does not depend on earlier requests, so a service that stalls delays every request
  // meanwhile.
  every(SEND_EVERY_MS, send)
  every(HEALTHZ_EVERY_MS, healthz)
}

function every(ms: number, act: () => Promise<void>): void {
  setInterval(() => {
    if (!isMeasuring) return
    const run = act().finally(() => pending.delete(run))
    pending.add(run)
  }, ms)
}

/** The arrival of a message's event, which may be earlier than the response to its send. */
function arrivalOf(messageId: string) {
  let entry = arrivals.get(messageId)
  if (!entry) {
    const { promise: atMs, resolve } = Promise.withResolvers<number>()
    entry = { atMs, resolve: () => resolve(performance.now()) }
    arrivals.set(messageId, entry)
  }
  return entry
}

function call(url: string, options: http.RequestOptions, body?: object): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const resolveFailed = (error: Error) => resolve({ status: 0, body: error.message })
    const request = http.request(url, { ...options, timeout: TIMEOUT_MS }, async (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', resolveFailed)
      response.on('end', () => resolve({ status: response.statusCode!, body: text }))
    })
    request.on('error', resolveFailed)
    request.on('timeout', () => request.destroy(new Error(`no response within ${TIMEOUT_MS / 1_000} s`)))
    request.end(body && JSON.stringify(body))
  })
}

function say(message: FromVictim): void {
  process.send!(message)
}

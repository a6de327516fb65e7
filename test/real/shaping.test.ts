import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../harness/until-end.ts'
import { ANNA, type MailWorld, startMailWorld } from './mail-world.ts'
import { type Product, startProduct } from './product.ts'

// Two API processes send from one address to a Postfix that takes few connections and messages from each client: 300
// messages in 30 seconds instead of a minute, so that 600 sends take little over a minute.

const SENDS = 600
const IN_FLIGHT = 40
const PER_MINUTE = 600
/**
 * Postfix counts from the first message on, until one comes in a later second than this number of seconds after it. So
 * its window is a second longer than its unit. In a shorter window the messages that a process may catch up with after
 * it hung, those of 2.5 s, are more than the 15 % of the limit that are never given out.
 */
const UNIT_SECONDS = 29
const WINDOW_SECONDS = UNIT_SECONDS + 1
/** After this time nothing may be refused any more. */
const SETTLED_MS = 10_000

let world: MailWorld
let second: Product

beforeAll(async () => {
  const limits = join(temporaryFolder(), 'limits.json')
  const shaping = [{ site: 'mx.example.net', connections: 4, per_minute: PER_MINUTE }]
  writeFileSync(limits, JSON.stringify({ shaping, warmup: [] }))
  const env = { TIERS_FILE: limits, SMTP_SOURCE_ADDRESSES: '127.0.0.1' }
  world = await startMailWorld({
    recipients: 'people MX 10 mx\nmx A 127.0.0.1',
    postfix: () => ({
      listeners: { '127.0.0.1': {} },
      addresses: { [ANNA]: 'anna' },
      settings: {
        smtpd_client_connection_count_limit: '4',
        smtpd_client_message_rate_limit: String((PER_MINUTE * WINDOW_SECONDS) / 60),
        smtpd_client_event_limit_exceptions: '',
        anvil_rate_time_unit: `${UNIT_SECONDS}s`,
      },
    }),
    env,
  })
  second = await startProduct(world.account, {
    DNS_SERVERS: world.nsd.address,
    SMTP_PORT: String(world.postfix.port),
    SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
    SMTP_HELO_NAME: 'mail.example.com',
    ...env,
  })
})

const log = () => world.postfix.log().split('\n')

/** The lines of the log in which Postfix refused something. */
const refusals = () => log().filter((line) => /: (?:421|450) |limit exceeded|too many/i.test(line))

const secondsOf = (line: string) => {
  const [, hours, minutes, seconds] = /(\d\d):(\d\d):(\d\d)/.exec(line)!
  return Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)
}

test('two processes of one address stay within the limits of a site together', async () => {
  const products = [world.product, second]
  const startedAt = performance.now()
  const results = { delivered: 0, repeated: 0, others: [] as unknown[] }
  let next = 0
  const work = async (product: Product) => {
    while (next < SENDS) {
      const key = `shaping-${next++}`
      for (;;) {
        const { status, body } = await product.send({ to: ANNA }, { 'idempotency-key': key })
        if (status === 200 && body.status === 'delivered') results.delivered++
        else if (status === 500 && body.error === 'transient_failure') {
          results.repeated++
          continue
        } else results.others.push(body)
        break
      }
    }
  }
  await Promise.all(products.flatMap((product) => Array.from({ length: IN_FLIGHT / 2 }, () => work(product))))
  const seconds = (performance.now() - startedAt) / 1_000
  const first = secondsOf(log().find((line) => line.includes('connect from'))!)
  const late = refusals().filter((line) => secondsOf(line) - first > SETTLED_MS / 1_000)
  console.log({ ...results, seconds, refusals: refusals().length, late: late.length })
  expect(late).toEqual([])
  expect(results.others.every((body) => (body as { reason?: string }).reason === 'temporary_failure')).toBe(true)
  expect(results.delivered + results.others.length).toBe(SENDS)
  expect(seconds).toBeLessThan(90)
})

test('verdict shaping shows the site: its limits, and what both processes have open', () => {
  const env = { ...process.env, ...world.account.env }
  const { sites } = JSON.parse(execFileSync('node', ['cli/bin.mjs', 'shaping', '--json'], { env, encoding: 'utf8' }))
  expect(sites).toMatchObject([
    {
      address: '127.0.0.1',
      site: expect.stringContaining('mx.example.net'),
      limits: { connections: 4, messages_per_connection: 100, per_minute: 600 },
      connections: { allowed: 4 },
      slowed_since: null,
      last_refusal: null,
    },
  ])
})

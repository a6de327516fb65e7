import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { DEFINITIONS, isOf } from '../../server/telemetry/metrics.ts'
import { openAccount } from '../harness/account.ts'
import { testDatabase } from '../harness/postgres.ts'
import { startApiProcess } from '../harness/process.ts'
import { parseScrape } from './scrape.ts'

// The metrics of `npm run api` as a separate process.

const DOMAIN = 'shop.example.com'
const database = await testDatabase()
const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
const { key } = await openAccount(database.db, ENCRYPTION_KEYS, DOMAIN)
const env: NodeJS.ProcessEnv = { DATABASE_URL: database.url, ENCRYPTION_KEYS }
const api = await startApiProcess(env)
afterAll(() => api.kill())

const scrape = async () => (await fetch(api.metricsUrl)).text()

async function send(to: string): Promise<unknown> {
  const response = await fetch(`${api.url}/api/v1/emails/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: `orders@${DOMAIN}`, to, subject: 'Your order', text: 'It is on its way.' }),
  })
  return response.json()
}

test('sends are counted by status and reason, and no label holds an address', async () => {
  expect(await send('delivered@simulator.test')).toMatchObject({ status: 'delivered' })
  expect(await send('mailbox_full@simulator.test')).toMatchObject({ status: 'bounced' })
  await expect.poll(() => scrape()).toContain('thread="first_attempts"')
  const text = await scrape()
  expect(text).toContain('verdict_recipients_total{mode="simulator",status="delivered",reason="none"} 1\n')
  expect(text).toContain('verdict_recipients_total{mode="simulator",status="bounced",reason="mailbox_full"} 1\n')
  expect(text).toContain('verdict_send_duration_seconds_count{mode="simulator"} 2\n')
  expect(text).toContain('verdict_calls_total{rpc="EmailService/Send",protocol="rest",code="ok"} 2\n')
  expect(text).toContain('verdict_ready 1\n')
  expect(text).not.toMatch(/@|svc_|acc_/)
})

test('every metric of the API is exposed, and no other', async () => {
  const { types, series } = parseScrape(await scrape())
  const ofApi = Object.values(DEFINITIONS).filter((definition) => isOf(definition, 'api'))
  expect([...types].sort()).toEqual(ofApi.map(({ name, kind }) => [name, kind]).sort())
  const numberOf = (name: string) => series.find((one) => one.name === name)?.value
  expect(numberOf('verdict_history_ahead_seconds')).toBeGreaterThan(86_400)
  expect(numberOf('verdict_database_size_bytes')).toBeGreaterThan(1_000_000)
  expect(numberOf('verdict_webhook_oldest_unassigned_seconds')).toBe(0)
  expect(numberOf('verdict_temporal_up')).toBe(0)
})

test('the public port does not serve metrics', async () => {
  expect((await fetch(`${api.url}/metrics`)).status).toBe(404)
})

test('a process whose port is taken says so and serves mail without metrics', async () => {
  const { port } = new URL(api.metricsUrl)
  const second = await startApiProcess({ ...env, METRICS_PORT: port })
  expect(second.metricsUrl).toBeUndefined()
  expect(second.stdout()).toMatch(/No metrics are served: .*EADDRINUSE.* Set METRICS_PORT to a port of its own/)
  expect((await fetch(`${second.url}/readyz`)).status).toBe(200)
  await second.kill()
})

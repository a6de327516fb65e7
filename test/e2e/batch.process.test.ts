import { expect, onTestFinished, test } from 'vitest'
import { sql } from '../../server/db/drizzle.ts'
import { batchKeys, openMessages, openRecipients } from '../../server/db/schema.ts'
import { startExchanger } from '../harness/exchanger.ts'
import { startApiProcess } from '../harness/process.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letArrive } from '../harness/waits.ts'
import { startInstance } from './instance.ts'

const PATH = '/api/v1/emails/batch'
const HEADERS = { 'idempotency-key': 'batch' }
const EMAILS = JSON.stringify(
  Array.from({ length: 80 }, (_, i) => ({
    to: `ann${i}@slow.test`,
    from: 'hello@example.test',
    subject: 'Hello',
    text: 'Hi',
  })),
)

interface BatchResponse {
  results: { status?: string; error?: string; in_doubt?: boolean; message_id?: string }[]
  summary: { total: number; delivered: number; failed: number }
}

async function startSlowly() {
  const exchanger = untilEnd(await startExchanger({ dot: { after: 400, act: '250 2.0.0 queued' } }))
  const instance = await startInstance({ SMTP_ROUTES: `slow.test=127.0.0.1:${exchanger.port}` })
  const acceptedRecipients = () => exchanger.messages.map(({ to }) => to[0]!)
  return { exchanger, instance, acceptedRecipients }
}

test('a batch gets its response after SIGTERM, and a repeat to another process sends the messages that had not started', async () => {
  const { instance, acceptedRecipients } = await startSlowly()
  const response = instance.post(PATH, EMAILS, HEADERS)
  await expect.poll(() => acceptedRecipients().length).toBeGreaterThan(0)
  const exit = instance.api.kill('SIGTERM')
  const first = (await (await response).json()) as BatchResponse
  expect(await exit).toBe(0)
  expect(first.summary.failed).toBeGreaterThan(0)
  expect(first.summary.delivered + first.summary.failed).toBe(80)
  expect(first.results.filter(({ error }) => error === 'transient_failure')).toHaveLength(first.summary.failed)

  const second = await repeat(instance)
  expect(second.summary.delivered).toBe(80)
  expect(acceptedRecipients()).toHaveLength(80)
  expect(new Set(acceptedRecipients()).size).toBe(80)
})

test('a batch whose process is killed half-way is taken over by another process, and no recipient gets two messages', async () => {
  const { instance, acceptedRecipients } = await startSlowly()
  const response = instance.post(PATH, EMAILS, HEADERS).catch(() => 'cut')
  await expect.poll(() => acceptedRecipients().length).toBeGreaterThan(20)
  await instance.api.kill('SIGKILL')
  expect(await response).toBe('cut')
  await letArrive(500)
  const { db } = instance.database
  const expired = { leaseUntil: sql`now() - interval '1 second'` }
  for (const leased of [batchKeys, openMessages, openRecipients]) await db.update(leased).set(expired)

  const { results, summary } = await repeat(instance)
  expect(summary).toMatchObject({ total: 80, failed: 0 })
  expect(new Set(acceptedRecipients()).size).toBe(acceptedRecipients().length)
  const doubtful = results.filter((result) => result.in_doubt).length
  expect(summary.delivered + doubtful).toBe(80)
  expect(doubtful).toBeGreaterThan(0)
  expect(acceptedRecipients().length).toBeGreaterThanOrEqual(summary.delivered)
})

/** Sends the same request to a new process on the same database. */
async function repeat(instance: Awaited<ReturnType<typeof startInstance>>): Promise<BatchResponse> {
  const next = await startApiProcess(instance.environment)
  onTestFinished(async () => void (await next.kill('SIGKILL')))
  const response = await fetch(next.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${instance.key}`, 'content-type': 'application/json', ...HEADERS },
    body: EMAILS,
  })
  return (await response.json()) as BatchResponse
}

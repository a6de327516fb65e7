import { createClient } from '@connectrpc/connect'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { PROTOCOLS, TRANSPORTS } from '../../harness/transports.ts'
import { startApi } from '../api.ts'

// The law: a header that seems to mean a dry run or a key is ours, or refuses the call before anything is sent.

const api = await startApi()

const MESSAGE = { from: 'hello@example.test', to: ['ann@one.example'], subject: 'Hi', text: 'Hi.' }
/** Every call that sends or checks a send, over REST and the other protocols. */
const REST = {
  '/api/v1/emails/send': MESSAGE,
  '/api/v1/emails/validate': MESSAGE,
  '/api/v1/emails/batch': { emails: [MESSAGE] },
}
const ours = { sandbox: 'X-Service-Sandbox', idempotency: 'Idempotency-Key' }

const foreign = fc
  .record({
    word: fc.constantFrom('sandbox', 'idempotency' as const),
    before: fc.constantFrom('', 'X-', 'x_service_', 'X-Verdict-', 'Verdict-', 'x-my-'),
    after: fc.constantFrom('', '-Key', '_key', '-mode', 's'),
    value: fc.constantFrom('true', 'false', 'order-1'),
  })
  .map(({ word, before, after, value }) => ({
    name: before + word + after,
    value,
    means: ours[word as keyof typeof ours],
  }))
  .filter(({ name, means }) => name.toLowerCase() !== means.toLowerCase())

test('a header that is almost ours refuses every call that sends, over REST', async () => {
  const before = await count()
  await fc.assert(
    fc.asyncProperty(
      foreign,
      fc.constantFrom(...Object.entries(REST)),
      async ({ name, value, means }, [path, body]) => {
        const { status, json } = await api.call('POST', path, { body, headers: { [name]: value } })
        expect({ status, json }).toMatchObject({ status: 400, json: { error: 'invalid_payload' } })
        expect(json.message).toContain(means)
      },
    ),
  )
  expect(await count()).toBe(before)
})

test.for(PROTOCOLS)('a header that is almost ours refuses every call that sends, over %s', async (protocol) => {
  const transport = TRANSPORTS[protocol]({ baseUrl: api.url, httpVersion: '2' })
  const client = createClient(EmailService, transport)
  for (const [name, means] of [
    ['x-verdict-sandbox', 'X-Service-Sandbox'],
    ['x-idempotency-key', 'Idempotency-Key'],
  ] as const) {
    const headers = { authorization: `Bearer ${api.keys.live}`, [name]: 'true' }
    const calls = [
      client.send(MESSAGE, { headers }),
      client.validate(MESSAGE, { headers }),
      client.sendBatch({ emails: [MESSAGE] }, { headers }),
    ]
    for (const call of calls) await expect(call).rejects.toThrow(means)
  }
})

test("a foreign idempotency header beside ours is a library's, and means nothing", async () => {
  const headers = { 'idempotency-key': 'order-1', 'x-idempotency-key': 'other' }
  expect((await api.send({}, headers)).status).toBe(200)
})

test('a list of emails takes any header: it sends nothing', async () => {
  expect((await api.call('GET', '/api/v1/emails', { headers: { 'x-sandbox': 'true' } })).status).toBe(200)
})

async function count(): Promise<number> {
  return (await api.call('GET', '/api/v1/emails?limit=100')).json.emails.length
}

import { Code, ConnectError, createClient, createServiceImplSpec } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import { OutcomeUnknown } from '../../server/errors.ts'
import { createApp } from '../../server/http/app.ts'
import { listen } from '../../server/http/listener/listen.ts'

const spec = createServiceImplSpec<typeof EmailService>(EmailService, {
  send: async () => {
    throw new OutcomeUnknown({ cause: new Error('the database is away') })
  },
})
const app = await createApp({
  services: [spec],
  gate: async () => ({ accountId: 'a', keyId: 'k', test: false }),
  openCalls: createOpenCalls(),
  log: pino({ level: 'silent' }),
  checks: async () => ({}),
  keySet: { read: async () => ({ keys: [] }), maxAgeSeconds: 300 },
  about: { version: 'test', region: 'eu' },
})
const listener = await listen(app, { host: '127.0.0.1', port: 0 })
afterAll(() => listener.close({ timeoutMs: 500 }))

test('REST: when the outcome cannot be stored after the marker, the connection is closed without a response', async () => {
  const send = fetch(`${listener.url}/api/v1/emails/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  await expect(send).rejects.toThrow('fetch failed')
})

test('gRPC: no error says that it is safe to retry', async () => {
  const client = createClient(EmailService, createGrpcTransport({ baseUrl: listener.url }))
  const error = ConnectError.from(await client.send({}).catch((error) => error))
  expect(error.code).not.toBe(Code.Unavailable)
  expect(error.details).toEqual([])
})

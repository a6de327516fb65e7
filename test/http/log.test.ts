import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { logFieldsKey } from '../../server/caller.ts'
import { fail } from '../../server/errors.ts'
import { KEY, startGateway } from './gateway.ts'
import { ask, MAIL, send } from './requests.ts'
import { delivered } from './resources.ts'

const requests = (lines: Record<string, unknown>[]) => lines.filter((line) => line.msg === 'request')

test('a request is one line with its caller, its method and its result', async () => {
  await using gateway = await startGateway({
    async send(_, { values }) {
      Object.assign(values.get(logFieldsKey), { message_id: 'msg_1', recipients: [{ domain: 'recipient.test' }] })
      return delivered()
    },
  })
  await send(gateway.url, MAIL, { 'x-request-id': 'mine' })
  expect(requests(gateway.lines)).toEqual([
    {
      level: 30,
      time: expect.any(Number),
      msg: 'request',
      request_id: 'mine',
      protocol: 'rest',
      http_method: 'POST',
      path: '/api/v1/emails/send',
      rpc: 'verdict.v1.EmailService/Send',
      status: 200,
      code: 'ok',
      duration_ms: expect.any(Number),
      account_id: 'acc_1',
      key_id: 'key_1',
      message_id: 'msg_1',
      recipients: [{ domain: 'recipient.test' }],
    },
  ])
})

test('gRPC has the same line, and errors have their error code', async () => {
  await using gateway = await startGateway({
    async send() {
      throw fail('domain_not_verified', 'No.')
    },
  })
  const client = createClient(EmailService, createGrpcTransport({ baseUrl: gateway.url }))
  await client.send({}, { headers: { authorization: `Bearer ${KEY}` } }).catch(() => {})
  await client.send({}).catch(() => {})
  await ask(gateway.url, '/api/v1/emails/send')
  await ask(gateway.url, '/nope/ada@recipient.test')
  await expect
    .poll(() => requests(gateway.lines).map(({ protocol, path, code, status }) => [protocol, path, code, status]))
    .toEqual([
      ['grpc', '/verdict.v1.EmailService/Send', 'domain_not_verified', 200],
      ['grpc', '/verdict.v1.EmailService/Send', 'invalid_api_key', 200],
      ['rest', '/api/v1/emails/send', 'method_not_allowed', 405],
      ['rest', undefined, 'not_found', 404],
    ])
})

test('nothing that a caller wrote is in the log', async () => {
  const canary = 'canary'
  await using gateway = await startGateway({
    async send(request) {
      throw fail('invalid_address', `${request.subject} does not parse`, {
        fields: [{ field: canary, message: canary }],
      })
    },
  })
  const mail = { to: `${canary}@a.test`, from: canary, subject: canary, text: canary, headers: { [canary]: canary } }
  await send(gateway.url, mail, { 'user-agent': canary, [canary]: canary, cookie: canary })
  await send(gateway.url, `{"${canary}":`)
  await send(gateway.url, { [canary]: 1 })
  await ask(gateway.url, `/api/v1/events?recipient=${canary}&${canary}=1`)
  await ask(gateway.url, `/api/v1/emails/${canary}`)
  await ask(gateway.url, `/${canary}?${canary}`, { key: canary })
  await fetch(`${gateway.url}/verdict.v1.EmailService/Send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: `{"to":"${canary}"}`,
  })
  await expect.poll(() => requests(gateway.lines)).toHaveLength(7)
  expect(JSON.stringify(gateway.lines)).not.toContain(canary)
})

test('calls do not share their log fields', async () => {
  await using gateway = await startGateway({
    async send({ subject }, { values }) {
      Object.assign(values.get(logFieldsKey), subject === 'first' ? { first: true } : { second: true })
      return delivered()
    },
  })
  await send(gateway.url, { ...MAIL, subject: 'first' })
  await send(gateway.url, MAIL)
  expect(requests(gateway.lines).map(({ first, second }) => [first, second])).toEqual([
    [true, undefined],
    [undefined, true],
  ])
})

import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { beforeEach, expect, test } from 'vitest'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { fail, reasonOf } from '../../server/errors.ts'
import { untilEnd } from '../harness/until-end.ts'
import { CALLER, KEY, startGateway } from './gateway.ts'
import { MAIL, send } from './requests.ts'

// The right of a call is checked again when its body has arrived. Here the gate says how long it may take.

let trustedMs: number
let checks: number
let lost: boolean
const gateway = untilEnd(
  await startGateway({
    async gate({ giveRight }) {
      giveRight!({
        trustedMs,
        async check() {
          checks++
          if (lost) throw fail('invalid_api_key', 'It was revoked.')
        },
      })
      return CALLER
    },
  }),
)
beforeEach(() => {
  checks = 0
  lost = false
  gateway.sent.length = 0
})

const headers = { authorization: `Bearer ${KEY}` }
const overRpc = (create: typeof createGrpcTransport) => async () => {
  const transport = create({ baseUrl: gateway.url, httpVersion: '2' } as Parameters<typeof createGrpcTransport>[0])
  const sent = createClient(EmailService, transport).send({ ...MAIL, to: [MAIL.to] }, { headers })
  return sent.then(
    () => 'ok',
    (error) => reasonOf(error),
  )
}
const PROTOCOLS: [string, () => Promise<string | undefined>][] = [
  ['REST', async () => (await send(gateway.url, MAIL)).json.error ?? 'ok'],
  ['Connect', overRpc(createConnectTransport as never)],
  ['gRPC', overRpc(createGrpcTransport)],
  ['gRPC-Web', overRpc(createGrpcWebTransport as never)],
]

test.each(PROTOCOLS)('%s: a body that arrives within the time that is trusted costs no check', async (_, call) => {
  trustedMs = 60_000
  expect([await call(), checks]).toEqual(['ok', 0])
})

test.each(PROTOCOLS)('%s: a right that is not trusted for any time is checked once', async (_, call) => {
  trustedMs = 0
  expect([await call(), checks]).toEqual(['ok', 1])
})

test.each(PROTOCOLS)('%s: a call whose right is gone is not made', async (_, call) => {
  trustedMs = 0
  lost = true
  expect([await call(), checks, gateway.sent.length]).toEqual(['invalid_api_key', 1, 0])
})

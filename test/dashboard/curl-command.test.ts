import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { create } from '@bufbuild/protobuf'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { verifyWebhook } from '../../client/verify-webhook.ts'
import { curlCommand } from '../../dashboard/attempts/curl-command.ts'
import { AttemptRequestSchema } from '../../gen/verdict/v1/events_pb.ts'
import { newSecret, shownHeaders } from '../../server/webhooks/attempt/signature.ts'
import { newReceiver } from '../webhooks/post/posting.ts'

const parts = { eventId: 'evt_1', dispatchId: 'dsp_1', attempt: 2, timestamp: 1_000_000_000 }
const BODY = `{"event":"email.delivery","metadata":{"name":"Jos\u00e9 'the \u202e$(id) \\\\"}}`

test('the command posts the body again, with both signatures made anew from the secret', async () => {
  const receiver = await newReceiver()
  const secret = newSecret()
  const request = create(AttemptRequestSchema, { url: receiver.url, headers: shownHeaders(parts), body: BODY })
  const run = promisify(execFile)('sh', ['-c', curlCommand(request)], {
    env: { PATH: process.env.PATH, WEBHOOK_SECRET: secret },
  })
  expect((await run).stdout).toContain('200')
  const { headers, body } = receiver.requests[0]!
  expect(JSON.parse(body.toString())).toEqual(JSON.parse(BODY))
  expect(body.toString()).toContain('Jos\u00e9')
  expect(headers).toMatchObject({ 'service-event-id': 'evt_1', 'service-attempt': '2', 'service-dispatch-id': 'dsp_1' })
  expect(Number(headers['service-timestamp'])).toBeGreaterThan(Date.now() / 1_000 - 60)
  new Webhook(secret).verify(body, headers)
  expect(verifyWebhook(body, headers, secret)).toBeDefined()
})

test('a URL that is masked, or not shown, is taken from a variable', () => {
  const headers = shownHeaders(parts)
  for (const url of ['https://hooks.example.com/?token=***', undefined])
    expect(curlCommand(create(AttemptRequestSchema, { url, headers, body: '{}' }))).toMatch(/"\$WEBHOOK_URL"$/)
})

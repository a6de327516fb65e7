import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from './daemon.ts'
import { type MailWorld, startMailWorld } from './mail-world.ts'
import { startPostgrey } from './postgrey.ts'

// Debian's postgrey behind Postfix makes unknown senders wait. The guide to retrying promises that a retry gets
// through.

const DELAY_SECONDS = 3

let world: MailWorld
let postgrey: Awaited<ReturnType<typeof startPostgrey>>
beforeAll(async () => {
  world = await startMailWorld({
    recipients: 'grey MX 10 mx.grey\nmx.grey A 127.0.0.1',
    async postfix() {
      postgrey = await startPostgrey(DELAY_SECONDS)
      return {
        listeners: { '127.0.0.1': { smtpd_recipient_restrictions: postgrey.policy } },
        addresses: { 'ann@grey.example.net': 'ann', 'bob@grey.example.net': 'bob' },
      }
    },
  })
})
afterAll(() => postgrey?.stop())

const GREYLISTED = { status: 'bounced', reason: 'temporary_failure', retryable: true }

test('the first try is a temporary failure, and a retry after the delay is delivered', async () => {
  const { product, postfix } = world
  const message = { to: 'ann@grey.example.net', text: 'It comes at last.' }
  const { body: first } = await product.send(message)
  expect(first).toMatchObject({ ...GREYLISTED, smtp: { phase: 'rcpt', reply: expect.stringContaining('Greylisted') } })
  const startedAtMs = Date.now()
  const { body: early } = await product.send({ ...message, retry_of: first.message_id })
  expect(early).toMatchObject(GREYLISTED)

  let last = early
  const delivered = await eventually(async () => {
    const { body } = await product.send({ ...message, retry_of: last.message_id })
    last = body
    return body.status === 'delivered' ? body : undefined
  })
  expect(Date.now() - startedAtMs).toBeGreaterThan((DELAY_SECONDS - 1) * 1_000)
  expect(String(await postfix.mail('ann'))).toContain('It comes at last.')
  const senders = postfix.log().matchAll(/from=<(b\+[^>]+)> to=<ann@/g)
  expect(new Set(Array.from(senders, ([, sender]) => sender)).size).toBe(1)
  const chain = await product.get(`/api/v1/emails/${delivered.message_id}`)
  expect(chain.retry_of).toMatch(/^msg_/)
  expect((await product.get(`/api/v1/emails/${first.message_id}`)).retried_by).toEqual([early.message_id])
})

test('a second retry of the same recipient is refused', async () => {
  const { product } = world
  const message = { to: 'bob@grey.example.net' }
  const { body: first } = await product.send(message)
  const { body: second } = await product.send({ ...message, retry_of: first.message_id })
  const again = await product.send({ ...message, retry_of: first.message_id })
  expect([again.status, again.body.error]).toEqual([400, 'invalid_payload'])
  expect(again.body.message).toContain(second.message_id)
})

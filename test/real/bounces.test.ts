import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import type { Script } from '../harness/smtp-script.ts'
import { untilEnd } from '../harness/until-end.ts'
import { eventually } from './daemon.ts'
import { type MailWorld, startMailWorld } from './mail-world.ts'

// Like many gateways, Postfix accepts mail for `late.example.net` without a list of its users, and learns from an inner
// server who exists.

let world: MailWorld
let inside: Exchanger

beforeAll(async () => {
  inside = untilEnd(await startExchanger())
  const bouncePort = await freePort()
  world = await startMailWorld({
    recipients: 'mx.late A 127.0.0.1\nlate MX 10 mx.late',
    postfix: () => ({
      listeners: { '127.0.0.1': {} },
      addresses: {},
      sends: true,
      settings: {
        relay_domains: 'late.example.net',
        default_transport: 'error:nothing leaves the machine',
        transport_maps: `inline:{ {late.example.net = smtp:[127.0.0.1]:${inside.port}} {rp.shop.example.com = smtp:[127.0.0.1]:${bouncePort}} }`,
        // Every delivery opens its own connection, so that a refusal does not affect the next one.
        smtp_connection_cache_on_demand: 'no',
      },
    }),
    env: { BOUNCE_PORT: String(bouncePort) },
  })
})

function script(script: Script): void {
  inside.script = script
  onTestFinished(() => {
    inside.script = {}
  })
}

/** Sends an email and returns the stored one once it has feedback. */
async function sendAndAwaitFeedback(to: string) {
  const { body } = await world.product.send({ to })
  expect(body).toMatchObject({ status: 'delivered', smtp: { code: 250 } })
  return eventually(async () => {
    const email = await world.product.get(`/api/v1/emails/${body.message_id}`)
    return email.feedback.length > 0 ? email : undefined
  })
}

test('a bounce after acceptance is stored with the message, and the address is suppressed', async () => {
  script({
    rcpt: '550 5.1.1 <gone@late.example.net>: Recipient address rejected: User unknown in local recipient table',
  })
  const email = await sendAndAwaitFeedback('gone@late.example.net')
  const detail = '550 5.1.1 <gone@late.example.net>: Recipient address rejected: User unknown in local recipient table'
  expect(email).toMatchObject({
    status: 'delivered',
    recipients: [{ email: 'gone@late.example.net', status: 'delivered' }],
    feedback: [{ kind: 'late_bounce', reason: 'mailbox_does_not_exist', recipient: 'gone@late.example.net', detail }],
  })
  expect(email.feedback[0].reported_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/)
  expect(email.events).toHaveLength(1)
  const { events } = await world.product.get(`/api/v1/events?message_id=${email.message_id}`)
  expect(events).toMatchObject([
    { event: 'email.feedback', status: 'delivered', feedback: 'late_bounce', reason: 'mailbox_does_not_exist', detail },
    { event: 'email.delivery', status: 'delivered', event_id: email.events[0].event_id },
  ])
  // The bounce was delivered to the return path: Postfix keeps nothing in its queue.
  await expect.poll(() => world.postfix.log()).toMatch(/to=<b\+[^>]+>, .*status=sent \(250 2\.0\.0 Thank you\)/)

  const { entries } = await world.product.get('/api/v1/suppression?email=gone@late.example.net')
  expect(entries).toMatchObject([{ reason: 'bounce', scope: 'account', message_id: email.message_id, detail }])
  const again = await world.product.send({ to: 'gone@late.example.net' })
  expect(again.body).toMatchObject({ status: 'rejected', reason: 'suppression_list' })
  const { totals } = await world.product.get('/api/v1/stats')
  expect(totals).toMatchObject({ delivered: 1, bounced: 0, late_bounces: 1, complaints: 0 })
})

test('a bounce for refused content has the reason spam_blocked, and suppresses no address', async () => {
  script({ dot: '554 5.7.1 This message looks like spam' })
  const { feedback } = await sendAndAwaitFeedback('anna@late.example.net')
  expect(feedback).toMatchObject([
    { kind: 'late_bounce', reason: 'spam_blocked', detail: '554 5.7.1 This message looks like spam' },
  ])
  expect((await world.product.get('/api/v1/suppression?email=anna@late.example.net')).entries).toEqual([])
})

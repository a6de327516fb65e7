import { randomBytes } from 'node:crypto'
import PostalMime from 'postal-mime'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { startQuotaStatus } from './dovecot.ts'
import { type MailWorld, startMailWorld } from './mail-world.ts'
import { fieldNames, splitTrace } from './mailbox.ts'
import type { PostfixSetup } from './postfix.ts'
import { type Recorder, startRecorder } from './recorder.ts'

// Each host is a Postfix listener with separate settings. `recorded` leads to Postfix through a recorder, and `dead`
// has no listener.
const HOSTS = {
  plain: '127.0.0.1',
  quota: '127.0.0.2',
  small: '127.0.0.3',
  nospace: '127.0.0.4',
  recorded: '127.0.0.5',
  dead: '127.0.0.6',
}
const RECIPIENTS = `
${Object.entries(HOSTS)
  .map(([host, address]) => `mx.${host} A ${address}\n${host} MX 10 mx.${host}`)
  .join('\n')}
second MX 10 mx.dead
second MX 20 mx.plain
ill MX 10 mx.nospace
ill MX 20 mx.plain
elsewhere MX 10 mx.plain
`

let world: MailWorld
let recorder: Recorder
let quotaStatus: Awaited<ReturnType<typeof startQuotaStatus>>

beforeAll(async () => {
  world = await startMailWorld({
    recipients: RECIPIENTS,
    async postfix(mailboxes) {
      quotaStatus = await startQuotaStatus(mailboxes, '1M')
      return { listeners: listeners(quotaStatus.policy), addresses: addresses(), settings: SETTINGS }
    },
  })
  recorder = untilEnd(await startRecorder(HOSTS.recorded, HOSTS.plain, world.postfix.port))
})

afterAll(() => quotaStatus?.stop())

const GREYLIST = '{grey@plain.example.net = DEFER 4.7.1 Greylisted, come back in 5 minutes}'
const SETTINGS = {
  message_size_limit: '20000000',
  header_checks: 'regexp:{ {/^Subject: .*lottery/ REJECT} }',
}

function listeners(quotaPolicy: string): PostfixSetup['listeners'] {
  return {
    [HOSTS.plain]: { smtpd_recipient_restrictions: `check_recipient_access inline:{ ${GREYLIST} }` },
    [HOSTS.quota]: { smtpd_recipient_restrictions: quotaPolicy },
    [HOSTS.small]: { message_size_limit: '10000' },
    [HOSTS.nospace]: { queue_minfree: String(2 ** 61) },
  }
}

function addresses(): PostfixSetup['addresses'] {
  const at = (hosts: string[], mailbox: string) => hosts.map((host) => [`${mailbox}@${host}.example.net`, mailbox])
  return Object.fromEntries([
    ...at([...Object.keys(HOSTS), 'second', 'ill'], 'anna'),
    ...at(['plain', 'quota'], 'full'),
    ...at(['plain'], 'grey'),
  ])
}

const MESSAGES = {
  'text that looks like the end of a message, like a command and like a trace field': {
    text: '.\n..\n.\r\nQUIT\r\n.leading dot\nFrom here\n\nReceived: from nowhere\ntrailing spaces  \n\ttab\t\n\n\n\n',
  },
  'html and text in several scripts, with lines longer than SMTP allows': {
    subject: 'Ihre Bestellung – 你好, Ünïcödé 📦, and words enough to fold the line of the subject at least twice over',
    text: `${'äöü '.repeat(2_000)}\nend`,
    html: `<p>${'x'.repeat(5_000)}</p><p>– 你好 📦</p>`,
    reply_to: 'Кассир <cashier@shop.example.com>',
    headers: { 'X-Order': '4711', 'List-Unsubscribe': '<https://shop.example.com/u/4711>' },
  },
  'attachments of every octet': {
    html: '<p>See attached.</p>',
    attachments: [
      {
        filename: 'every octet.bin',
        content: Buffer.from([...Array(256).keys(), ...Array(256).keys()]).toString('base64'),
      },
      { filename: 'Rechnung März.pdf', content: randomBytes(300_000).toString('base64') },
    ],
  },
}

test.each(Object.entries(MESSAGES))('a delivered mail arrives in the mailbox byte for byte: %s', async (_, message) => {
  const before = await world.postfix.count('anna')
  const { status, body } = await world.product.send({ to: 'anna@recorded.example.net', ...message })
  expect([status, body.status]).toEqual([200, 'delivered'])
  expect(body.smtp).toMatchObject({ code: 250, enhanced: '2.0.0', phase: 'dot', mx: 'mx.recorded.example.net' })

  const file = await world.postfix.mail('anna', before + 1)
  const { trace, message: mailboxMessage } = splitTrace(file)
  const sentMessage = recorder.contents().at(-1)!
  expect(mailboxMessage.equals(sentMessage)).toBe(true)
  // Only the trace fields of Postfix are in front of the message.
  expect(new Set(fieldNames(trace))).toEqual(new Set(['Return-Path', 'X-Original-To', 'Delivered-To', 'Received']))
})

/** Splits a body into lines. In the mailbox, lines end as in mail, and the body ends with a line end. */
const linesOf = (text = '') => text.trimEnd().split(/\r?\n/)

test('a mail reader sees what the caller sent', async () => {
  const before = await world.postfix.count('anna')
  const message = MESSAGES['html and text in several scripts, with lines longer than SMTP allows']
  const { attachments } = MESSAGES['attachments of every octet']
  const { body } = await world.product.send({ to: 'anna@plain.example.net', ...message, attachments })
  expect(body.status).toBe('delivered')
  const mail = await PostalMime.parse(await world.postfix.mail('anna', before + 1), { attachmentEncoding: 'base64' })
  expect(mail.from).toMatchObject({ address: 'orders@shop.example.com' })
  expect(mail.to).toMatchObject([{ address: 'anna@plain.example.net' }])
  expect(mail.replyTo).toMatchObject([{ name: 'Кассир', address: 'cashier@shop.example.com' }])
  expect(mail.subject).toBe(message.subject)
  expect([mail.text, mail.html].map(linesOf)).toEqual([message.text, message.html].map(linesOf))
  expect(mail.headers).toContainEqual(expect.objectContaining({ key: 'x-order', value: '4711' }))
  expect(mail.attachments.map(({ filename, content }) => ({ filename, content }))).toEqual(attachments)
  expect(mail.returnPath).toMatch(/^b\+[0-9a-z]+@rp\.shop\.example\.com$/)
  expect(mail.messageId).toBe(`<${body.message_id}@rp.shop.example.com>`)
})

test('an unknown user bounces with mailbox_does_not_exist', async () => {
  const { body } = await world.product.send({ to: 'nobody@plain.example.net' })
  expect(body).toMatchObject({ status: 'bounced', reason: 'mailbox_does_not_exist' })
  expect(body.smtp).toMatchObject({
    code: 550,
    enhanced: '5.1.1',
    phase: 'rcpt',
    mx: 'mx.plain.example.net',
    ip: HOSTS.plain,
  })
  expect(body.smtp.reply).toMatch(/User unknown in virtual mailbox table/)
})

test('a mailbox over its quota bounces with mailbox_full, and one with room gets the mail', async () => {
  const before = await world.postfix.count('anna')
  const text = 'x'.repeat(70).concat('\n').repeat(20_000)
  const largeSend = await world.product.send({ to: 'full@plain.example.net', text })
  expect(largeSend.body.status).toBe('delivered')
  await world.postfix.mail('full')
  const { body } = await world.product.send({ to: 'full@quota.example.net' })
  expect(body).toMatchObject({ status: 'bounced', reason: 'mailbox_full' })
  expect(body.smtp).toMatchObject({ code: 552, enhanced: '5.2.2', phase: 'rcpt' })
  expect(body.smtp.reply).toMatch(/Mailbox is full/)
  expect((await world.product.send({ to: 'anna@quota.example.net' })).body.status).toBe('delivered')
  await world.postfix.mail('anna', before + 1)
})

test('each of several recipients has its own outcome, and the valid one gets the mail', async () => {
  const before = await world.postfix.count('anna')
  const to = ['stranger@plain.example.net', 'anna@plain.example.net', 'anna@dead.example.net']
  const { body } = await world.product.send({ to, subject: 'For all of you' })
  expect(body).toMatchObject({ status: 'bounced', reason: 'mailbox_does_not_exist' })
  expect(body.recipients).toMatchObject([
    { email: to[0], status: 'bounced', reason: 'mailbox_does_not_exist', smtp: { code: 550 } },
    { email: to[1], status: 'delivered', smtp: { code: 250 } },
    { email: to[2], status: 'bounced', reason: 'connection_timeout', smtp: { phase: 'connect' } },
  ])
  expect(String(await world.postfix.mail('anna', before + 1))).toContain('Subject: For all of you')
  expect(await world.postfix.count('anna')).toBe(before + 1)
  const { events } = await world.product.get(`/api/v1/events?message_id=${body.message_id}`)
  expect(events).toHaveLength(3)
})

const REFUSALS = [
  {
    what: 'a server that denies relaying is a policy block',
    send: { to: 'anna@elsewhere.example.net' },
    reason: 'policy_block',
    smtp: { code: 554, enhanced: '5.7.1', phase: 'rcpt', reply: /Relay access denied/ },
  },
  {
    what: 'a message above the size limit that the server announces is a policy block',
    send: { to: 'anna@small.example.net', text: 'x'.repeat(20_000) },
    reason: 'policy_block',
    smtp: { code: 250, phase: 'ehlo', reply: /SIZE 10000/ },
  },
  {
    what: 'content refused after the dot is spam_blocked',
    send: { to: 'anna@plain.example.net', subject: 'You won the lottery' },
    reason: 'spam_blocked',
    smtp: { code: 550, enhanced: '5.7.1', phase: 'dot', reply: /message content rejected/ },
  },
  {
    what: 'greylisting is a temporary failure that is retryable',
    send: { to: 'grey@plain.example.net' },
    reason: 'temporary_failure',
    retryable: true,
    smtp: { code: 450, enhanced: '4.7.1', phase: 'rcpt', reply: /Greylisted/ },
  },
  {
    what: 'a server without disk space is a temporary failure',
    send: { to: 'anna@nospace.example.net' },
    reason: 'temporary_failure',
    retryable: true,
    smtp: { code: 452, enhanced: '4.3.1', phase: 'mail', reply: /Insufficient system storage/ },
  },
]

test.each(REFUSALS)('$what', async ({ send, reason, retryable, smtp: { reply, ...smtp } }) => {
  const before = await world.postfix.count('anna')
  const { status, body } = await world.product.send(send)
  expect(status).toBe(200)
  expect(body).toMatchObject({ status: 'bounced', reason })
  expect(body.retryable).toBe(retryable)
  expect(body.smtp).toMatchObject(smtp)
  expect(body.smtp.reply).toMatch(reply)
  expect(await world.postfix.count('anna')).toBe(before)
})

test('the second mail exchanger gets the mail when the first is down', async () => {
  const { body } = await world.product.send({ to: 'anna@second.example.net' })
  expect(body).toMatchObject({ status: 'delivered', smtp: { mx: 'mx.plain.example.net' } })
})

test('the second mail exchanger gets the mail when the first has no space left', async () => {
  const { body } = await world.product.send({ to: 'anna@ill.example.net' })
  expect(body).toMatchObject({ status: 'delivered', smtp: { mx: 'mx.plain.example.net' } })
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { mailboxConfiguration, startExim } from './exim.ts'
import { startHaraka } from './haraka.ts'
import { type ServerWorld, startServerWorld } from './mail-world.ts'
import { splitTrace } from './mailbox.ts'
import { verifyWithOpendkim } from './opendkim.ts'
import { startOpensmtpd } from './opensmtpd.ts'
import { SENDER_DOMAIN } from './product.ts'
import { type Recorder, startRecorder } from './recorder.ts'

// Each server has the domain `<name>.example.net`. A recorder in front of it sees what arrives.
const SERVERS = {
  exim: {
    address: '127.0.0.11',
    recorder: '127.0.0.21',
    accepted: /^OK id=/,
    unknown: { code: 550, reply: /^Unknown user$/, reason: 'mailbox_does_not_exist', strikes: 1 },
    relaying: { reply: /^relay not permitted$/, reason: 'policy_block' },
  },
  opensmtpd: {
    address: '127.0.0.12',
    recorder: '127.0.0.22',
    accepted: /Message accepted for delivery$/,
    // It expands a domain of virtual users like a mailing list, and names no user, mailbox or account.
    unknown: {
      code: 524,
      enhanced: '5.2.4',
      reply: /Mailing list expansion problem/,
      reason: 'policy_block',
      strikes: 0,
    },
    // It refuses an unknown user of a domain that it serves in the same words.
    relaying: { reply: /Invalid recipient/, reason: 'mailbox_does_not_exist' },
  },
  haraka: {
    address: '127.0.0.13',
    recorder: '127.0.0.23',
    accepted: /^Message Queued/,
    unknown: { code: 550, reply: /User unknown/, reason: 'mailbox_does_not_exist', strikes: 1 },
    relaying: { reply: /cannot deliver mail for/, reason: 'policy_block' },
  },
}
type Name = keyof typeof SERVERS
const NAMES = Object.keys(SERVERS) as Name[]

let world: ServerWorld<Record<Name, { stop(): Promise<void> }>>
const recorders = new Map<Name, Recorder>()

beforeAll(async () => {
  const zone = NAMES.flatMap((name) => [
    `${name} MX 10 mx.${name}`,
    `elsewhere-${name} MX 10 mx.${name}`,
    `mx.${name} A ${SERVERS[name].recorder}`,
  ])
  world = await startServerWorld({
    recipients: zone.join('\n'),
    servers: {
      exim: (place) =>
        startExim(
          {
            address: SERVERS.exim.address,
            configuration: mailboxConfiguration(place, { domains: ['exim.example.net'], users: ['exim'] }),
          },
          place,
        ),
      opensmtpd: (place) =>
        startOpensmtpd(
          { address: SERVERS.opensmtpd.address, domain: 'opensmtpd.example.net', users: ['opensmtpd'] },
          place,
        ),
      haraka: (place) =>
        startHaraka({ address: SERVERS.haraka.address, domain: 'haraka.example.net', user: 'haraka' }, place),
    },
  })
  for (const name of NAMES) {
    recorders.set(name, await startRecorder(SERVERS[name].recorder, SERVERS[name].address, world.port))
  }
})

afterAll(async () => {
  for (const recorder of recorders.values()) await recorder.close()
})

const suppressed = async (email: string) =>
  (await world.product.get(`/api/v1/suppression?email=${email}`)).entries.length

test.each(NAMES)('a mail to %s arrives octet for octet, with a signature that verifies', async (name) => {
  const before = await world.mailboxes.count(name)
  const { status, body } = await world.product.send({
    to: `${name}@${name}.example.net`,
    subject: 'Ihre Bestellung – 你好',
    text: '.\n..\nFrom here\n\nReceived: from nowhere\ntrailing spaces  \n\ttab\t\n',
    html: `<p>${'x'.repeat(5_000)}</p>`,
    attachments: [{ filename: 'every octet.bin', content: Buffer.from([...Array(256).keys()]).toString('base64') }],
  })
  expect([status, body.status]).toEqual([200, 'delivered'])
  expect(body.smtp).toMatchObject({ code: 250, phase: 'dot', mx: `mx.${name}.example.net` })
  expect(body.smtp.reply).toMatch(SERVERS[name].accepted)

  const { message } = splitTrace(await world.mailboxes.mail(name, before + 1))
  expect(message.equals(recorders.get(name)!.contents().at(-1)!)).toBe(true)
  expect(await verifyWithOpendkim(message, { domain: 'example.com', port: world.nsd.port })).toMatch(
    new RegExp(`^verification \\(s=\\S+, d=${SENDER_DOMAIN}, 2048-bit key\\) succeeded$`),
  )
})

test.each(NAMES)(
  'a user that %s does not know bounces as its reply says, beside one that gets the mail',
  async (name) => {
    const before = await world.mailboxes.count(name)
    const to = [`stranger@${name}.example.net`, `${name}@${name}.example.net`]
    const { body } = await world.product.send({ to })
    const { reply, reason, strikes, ...smtp } = SERVERS[name].unknown
    expect(body.recipients).toMatchObject([
      { email: to[0], status: 'bounced', reason, smtp: { phase: 'rcpt', ...smtp } },
      { email: to[1], status: 'delivered', smtp: { code: 250 } },
    ])
    expect(body.recipients[0].smtp.reply).toMatch(reply)
    await world.mailboxes.mail(name, before + 1)
    expect(await Promise.all(to.map(suppressed))).toEqual([strikes, 0])
  },
)

test.each(NAMES)('a domain that %s does not serve suppresses no address', async (name) => {
  const to = `ann@elsewhere-${name}.example.net`
  const { reply, reason } = SERVERS[name].relaying
  const { body } = await world.product.send({ to })
  expect(body).toMatchObject({ status: 'bounced', reason, smtp: { phase: 'rcpt', code: 550 } })
  expect(body.smtp.reply).toMatch(reply)
  expect(await suppressed(to)).toBe(0)
})

test('OpenSMTPD offers no SMTPUTF8: an address that needs it is a policy block, and the others get the mail', async () => {
  const before = await world.mailboxes.count('opensmtpd')
  const to = 'opensmtpd@opensmtpd.example.net'
  const address = 'zoë@opensmtpd.example.net'
  const detail = "mx.opensmtpd.example.net does not offer SMTPUTF8, which the recipient's address needs"
  const blind = await world.product.send({ to, bcc: address })
  expect(blind.body.recipients).toMatchObject([
    { email: to, status: 'delivered' },
    { email: address, status: 'bounced', reason: 'policy_block', smtp: { phase: 'ehlo', detail } },
  ])
  await world.mailboxes.mail('opensmtpd', before + 1)
  const { body } = await world.product.send({ to: address, cc: to })
  expect(body.recipients).toMatchObject([{ reason: 'policy_block' }, { reason: 'policy_block' }])
  expect(body.recipients[1].smtp.detail).toMatch(
    /does not offer SMTPUTF8, which letters beyond ASCII in the header need/,
  )
  expect(await world.mailboxes.count('opensmtpd')).toBe(before + 1)
})

import { execFile } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { promisify } from 'node:util'
import { authenticate } from 'mailauth'
import PostalMime from 'postal-mime'
import { beforeAll, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { type MailWorld, startMailWorld } from './mail-world.ts'
import { splitTrace } from './mailbox.ts'
import { SENDER_DOMAIN } from './product.ts'

// One Postfix offers SMTPUTF8, the other one does not.

const ADDRESS = 'zoë.ünï@offers.example.net'

const run = promisify(execFile)

let world: MailWorld
let front: number

beforeAll(async () => {
  front = await freePort()
  world = await startMailWorld({
    env: { SMTP_FRONT_PORT: String(front) },
    recipients: `
offers MX 10 mx.offers
mx.offers A 127.0.0.1
lacks MX 10 mx.lacks
mx.lacks A 127.0.0.2
`,
    postfix: () => ({
      listeners: { '127.0.0.1': { smtputf8_enable: 'yes' }, '127.0.0.2': { smtputf8_enable: 'no' } },
      addresses: { [ADDRESS]: 'zoe', 'anna@offers.example.net': 'anna', 'anna@lacks.example.net': 'anna-lacks' },
    }),
  })
})

test('Postfix with SMTPUTF8 takes the address, and its header and signature arrive whole', async () => {
  const { body } = await world.product.send({ to: `Zoë <${ADDRESS}>`, cc: 'anna@offers.example.net', text: 'Hi' })
  expect(body.recipients).toMatchObject([{ status: 'delivered' }, { status: 'delivered' }])
  const file = await world.postfix.mail('zoe')
  expect(file.toString()).toMatch(/^Delivered-To: zoë\.ünï@offers\.example\.net$/m)
  expect(splitTrace(file).trace).toContain('with UTF8SMTP')
  const { message } = splitTrace(file)
  expect((await PostalMime.parse(message)).to).toEqual([{ name: 'Zoë', address: ADDRESS }])
  const resolver = new Resolver()
  resolver.setServers([world.nsd.address])
  const { dkim } = await authenticate(message, {
    ip: '127.0.0.1',
    helo: 'mail.example.com',
    sender: 'x@example.com',
    resolver: (name, type) => resolver.resolve(name, type as 'TXT'),
  })
  expect(dkim.results[0]!.status.result).toBe('pass')
})

test('a message to ASCII addresses asks Postfix for no SMTPUTF8', async () => {
  const { body } = await world.product.send({ to: 'anna@offers.example.net', subject: 'Größe', text: 'Hi' })
  expect(body.status).toBe('delivered')
  expect(splitTrace(await world.postfix.mail('anna', 2)).trace).toMatch(/with ESMTPS?\b/)
})

test('Postfix without SMTPUTF8 gets no message whose header shows such an address', async () => {
  const { body } = await world.product.send({ to: ['ünï@lacks.example.net', 'anna@lacks.example.net'], text: 'Hi' })
  for (const { reason, smtp } of body.recipients) {
    expect(reason).toBe('policy_block')
    expect(smtp.detail).toBe(
      'mx.lacks.example.net does not offer SMTPUTF8, which letters beyond ASCII in the header need',
    )
  }
  expect(await world.postfix.count('anna-lacks')).toBe(0)
})

test('Postfix without SMTPUTF8 delivers to the others when only a bcc needs it', async () => {
  const { body } = await world.product.send({ to: 'anna@lacks.example.net', bcc: 'ünï@lacks.example.net', text: 'Hi' })
  expect(body.recipients).toMatchObject([
    { status: 'delivered' },
    {
      reason: 'policy_block',
      smtp: { detail: "mx.lacks.example.net does not offer SMTPUTF8, which the recipient's address needs" },
    },
  ])
  await world.postfix.mail('anna-lacks')
})

/** As the documentation of smtplib shows it: it asks for SMTPUTF8 itself, and writes the header in UTF-8. */
const PROGRAM = `
import os, smtplib
from email.message import EmailMessage
message = EmailMessage()
message["From"], message["To"], message["Subject"] = os.environ["FROM"], os.environ["TO"], "Grüße"
message["Message-ID"] = "<utf8@shop.example.com>"
message.set_content("Hi")
with smtplib.SMTP("127.0.0.1", int(os.environ["PORT"]), timeout=40) as verdict:
    verdict.login("any", os.environ["KEY"])
    try:
        print(verdict.send_message(message))
    except smtplib.SMTPDataError as error:
        print(error)
`

test("Python's smtplib sends over the SMTP front to such an address, as it is; a server without SMTPUTF8 refuses it", async () => {
  const sendTo = async (to: string) => {
    const more = { FROM: `orders@${SENDER_DOMAIN}`, TO: to, PORT: String(front), KEY: world.account.key }
    const env = { ...process.env, ...more, PYTHONIOENCODING: 'utf-8' }
    return (await run('python3', ['-c', PROGRAM], { env })).stdout.trim()
  }
  const before = await world.postfix.count('zoe')
  expect(await sendTo(`Zoë <${ADDRESS}>`)).toBe('{}')
  const { message } = splitTrace(await world.postfix.mail('zoe', before + 1))
  const mail = await PostalMime.parse(message)
  expect([mail.to, mail.subject]).toEqual([[{ name: 'Zoë', address: ADDRESS }], 'Grüße'])
  expect(await sendTo('ünï@lacks.example.net')).toMatch(/^\(550, b'5\.7\.1 msg_\w+: .* does not offer SMTPUTF8/)
})

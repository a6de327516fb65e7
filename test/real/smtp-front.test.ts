import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { snippets } from '../docs/snippets.ts'
import { eventually } from '../harness/eventually.ts'
import { connectClient, stuffed } from '../smtp-front/client.ts'
import { openFolder } from './daemon.ts'
import { mailboxFolder, type Postfix, startPostfix } from './postfix.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// Programs that send by SMTP: Python's smtplib, nodemailer, swaks, and Postfix with the service as its smarthost.

const run = promisify(execFile)
const FROM = `orders@${SENDER_DOMAIN}`

let account: Account
let product: Product
let port: number
let lmtpPort: number

beforeAll(async () => {
  account = await createSender()
  port = await freePort()
  lmtpPort = await freePort()
  product = await startProduct(account, { SMTP_FRONT_PORT: String(port), SMTP_FRONT_LMTP_PORT: String(lmtpPort) })
})

afterAll(async () => {
  await product?.api.kill()
  await account?.database.drop()
})

const idsIn = (text: string) => [...new Set(text.match(/msg_[0-9a-z]{26}/g))]
const get = (id: string) => product.get(`/api/v1/emails/${id}`)

test("Python's smtplib prints the recipient server's own reply, with the program of the guide", async () => {
  const guide = readFileSync('docs/smtp.md', 'utf8')
  const program = snippets(guide)
    .find(({ language }) => language === 'python')!
    .text.replaceAll('hello@example.test', FROM)
  const env = { ...process.env, SMTP_HOST: '127.0.0.1', SMTP_PORT: String(port), VERDICT_API_KEY: account.key }
  const { stdout } = await run('python3', ['-c', program], { env })
  expect(stdout).toMatch(/^\(250, b'2\.0\.0 msg_\w{26}: Delivered'\)/)
  expect(await get(idsIn(stdout)[0]!)).toMatchObject({ status: 'delivered', raw: true, subject: 'Order 1234' })
})

test('nodemailer gets the reply, and an error with the code of a refusal', async () => {
  const nodemailer = createRequire(createRequire(import.meta.url).resolve('smtp-server'))('nodemailer')
  const transport = nodemailer.createTransport({
    ...{ host: '127.0.0.1', port, pool: true, maxConnections: 1 },
    auth: { user: 'any', pass: account.key },
  })
  const mail = { from: `Shop <${FROM}>`, subject: 'Grüße', text: 'Hi', html: '<p>Hi ü</p>' }
  const attachments = [{ filename: 'Rechnung März.txt', content: 'ü' }]
  const invitation = { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n' }
  const sent = await transport.sendMail({ ...mail, to: 'delivered@simulator.test', attachments, icalEvent: invitation })
  expect(sent.response).toMatch(/^250 2\.0\.0 msg_\w{26}: Delivered$/)
  expect(await get(idsIn(sent.response)[0]!)).toMatchObject({
    subject: 'Grüße',
    attachments: expect.arrayContaining([expect.objectContaining({ filename: 'Rechnung März.txt', size_bytes: 2 })]),
  })
  const error = await transport
    .sendMail({ ...mail, to: 'mailbox_does_not_exist@simulator.test' })
    .catch((e: Error) => e)
  expect(error).toMatchObject({ responseCode: 550, response: expect.stringMatching(/^550 5\.1\.1 msg_\w{26}: /) })
  transport.close()
})

test('swaks shows the replies of a delivery, a temporary failure and a rejection', async () => {
  const swaks = async (to: string) => {
    const options = ['--server', `127.0.0.1:${port}`, '--from', FROM, '--to', to, '--h-From', FROM]
    const login = ['--auth', 'LOGIN', '--auth-user', 'any', '--auth-password', account.key]
    const { stdout } = await run('swaks', [...options, ...login]).catch((error) => error)
    return /^<[-*]+ +((?:250|4\d\d|5\d\d)[ -]\d\.\d\.\d msg_.*)$/m.exec(stdout)?.[1] ?? stdout
  }
  expect(await swaks('delivered@simulator.test')).toMatch(/^250 2\.0\.0 msg_\w{26}: Delivered/)
  expect(await swaks('temporary_failure@simulator.test')).toMatch(/^4\d\d 4\./)
  expect(await swaks('suppression_list@simulator.test')).toMatch(/^550 5\.7\.1 msg_\w{26}: /)
})

test('Postfix over LMTP: of one message it keeps the recipient refused for now, and bounces the final one', async () => {
  const folder = await openFolder('smarthost')
  const passwords = join(folder, 'passwords')
  writeFileSync(passwords, `127.0.0.1 any:${account.key}\n`)
  const postfix: Postfix = await startPostfix({
    listeners: { '127.0.0.1': {} },
    addresses: { 'nobody@unused.example.net': 'unused' },
    mailboxes: await mailboxFolder(),
    sends: true,
    settings: {
      mynetworks: '127.0.0.0/8',
      smtpd_relay_restrictions: 'permit_mynetworks, reject',
      default_transport: `lmtp:inet:127.0.0.1:${lmtpPort}`,
      always_add_missing_headers: 'yes',
      lmtp_sasl_auth_enable: 'yes',
      lmtp_sasl_password_maps: `texthash:${passwords}`,
      lmtp_sasl_security_options: 'noanonymous',
      ...{ minimal_backoff_time: '1s', maximal_backoff_time: '2s', queue_run_delay: '1s' },
    },
  })
  try {
    const client = await connectClient(postfix.port)
    await client.ask('EHLO client.test')
    const names = ['delivered', 'temporary_failure', 'mailbox_does_not_exist']
    const recipients = names.map((name) => `RCPT TO:<${name}@simulator.test>`)
    for (const line of [`MAIL FROM:<${FROM}>`, ...recipients, 'DATA']) await client.ask(line)
    client.write(stuffed(`From: Shop <${FROM}>\r\nSubject: Fates\r\n\r\nHi\r\n`))
    expect(await client.reply()).toMatch(/^250/)
    client.end()
    const lines = (name: string) =>
      postfix
        .log()
        .split('\n')
        .filter((line) => line.includes(`to=<${name}@simulator.test>`))
    await eventually(() => expect(lines('temporary_failure').length).toBeGreaterThanOrEqual(2))
    await eventually(() => expect(lines('mailbox_does_not_exist')).toHaveLength(1))
    expect(lines('delivered')).toEqual([expect.stringMatching(/status=sent \(250 2\.0\.0 msg_\w{26}: Delivered\)/)])
    expect(lines('mailbox_does_not_exist')[0]).toMatch(/dsn=5\.1\.1, status=bounced .*said: 550 5\.1\.1 msg_\w{26}: /)
    const tries = lines('temporary_failure')
    for (const line of tries) expect(line).toMatch(/dsn=4\.\d\.\d, status=deferred .*said: 4\d\d 4\.\d\.\d msg_/)
    const [first, second] = tries.map((line) => idsIn(line)[0]!)
    expect(await get(second!)).toMatchObject({ retry_of: first })
  } finally {
    await postfix.stop()
  }
})

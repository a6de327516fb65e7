import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { snippets } from '../docs/snippets.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// Programs that send by SMTP: Python's smtplib, nodemailer, swaks. Mail servers are in relays.test.ts.

const run = promisify(execFile)
const FROM = `orders@${SENDER_DOMAIN}`

let account: Account
let product: Product
let port: number

beforeAll(async () => {
  account = await createSender()
  port = await freePort()
  product = await startProduct(account, { SMTP_FRONT_PORT: String(port) })
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

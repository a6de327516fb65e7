import { Resolver } from 'node:dns/promises'
import { authenticate } from 'mailauth'
import { beforeAll, expect, test } from 'vitest'
import { ANNA, type MailWorld, ONE_MAILBOX, startMailWorld } from './mail-world.ts'
import { splitTrace } from './mailbox.ts'
import { verifyWithOpendkim } from './opendkim.ts'
import { SENDER_DOMAIN } from './product.ts'

let world: MailWorld
/** The message as stored in the mailbox. */
let mail: Buffer

beforeAll(async () => {
  world = await startMailWorld(ONE_MAILBOX)
  const { body } = await world.product.send({
    to: ANNA,
    subject: 'Your invoice – März',
    text: 'Trailing spaces   \n\n.\n\n\n',
    html: '<p>Grüße</p>',
    headers: {
      'List-Unsubscribe': '<https://shop.example.com/u>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
    attachments: [{ filename: 'a.bin', content: Buffer.alloc(1_000, 7).toString('base64') }],
  })
  expect(body.status).toBe('delivered')
  mail = await world.postfix.mail('anna')
})

const opendkim = (message: Buffer) => verifyWithOpendkim(message, { domain: 'example.com', port: world.nsd.port })

async function mailauth(file: Buffer) {
  const resolver = new Resolver()
  resolver.setServers([world.nsd.address])
  const sender = /^Return-Path: <(.+)>$/m.exec(splitTrace(file).trace)![1]!
  return authenticate(splitTrace(file).message, {
    ip: '127.0.0.1',
    helo: 'mail.example.com',
    sender,
    resolver: (name, type) => resolver.resolve(name, type as 'TXT'),
  })
}

test('opendkim verifies the signature of the mail in the mailbox', async () => {
  expect(await opendkim(mail)).toMatch(
    new RegExp(`^verification \\(s=\\S+, d=${SENDER_DOMAIN}, 2048-bit key\\) succeeded$`),
  )
})

test('mailauth verifies the mail in the mailbox: DKIM and SPF pass with alignment, so DMARC passes', async () => {
  const { dkim, spf, dmarc } = await mailauth(mail)
  expect(dkim.results).toMatchObject([
    {
      signingDomain: SENDER_DOMAIN,
      algo: 'rsa-sha256',
      format: 'relaxed/relaxed',
      modulusLength: 2048,
      status: { result: 'pass', aligned: SENDER_DOMAIN },
    },
  ])
  expect(spf).toMatchObject({ domain: `rp.${SENDER_DOMAIN}`, status: { result: 'pass' } })
  expect(dmarc).toMatchObject({ status: { result: 'pass' }, alignment: { dkim: { result: SENDER_DOMAIN } } })
})

const TAMPERED: Record<string, (text: string) => string> = {
  'another subject': (text) => text.replace(/^Subject: /m, 'Subject: Re: '),
  'another attachment': (text) => text.replace('BwcHBwcH', 'BwcHBwcI'),
  'a second From': (text) => text.replace(/^From: /m, 'From: a@evil.example\nFrom: '),
  'an added Reply-To': (text) => text.replace(/^From: /m, 'Reply-To: a@evil.example\nFrom: '),
  'another unsubscribe link': (text) => text.replace('example.com/u>', 'example.com/v>'),
}

test.each(Object.entries(TAMPERED))('neither opendkim nor mailauth verifies a mail with %s', async (_, tamper) => {
  const tampered = Buffer.from(tamper(mail.toString('latin1')), 'latin1')
  expect(tampered.equals(mail)).toBe(false)
  expect(await opendkim(tampered)).toMatch(/verification .*failed/)
  const { dkim } = await mailauth(tampered)
  // mailauth reports `neutral` for a body with another hash.
  expect(dkim.results.map(({ status }) => status.result)).toEqual([expect.stringMatching(/^(fail|neutral)$/)])
})

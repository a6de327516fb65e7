import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { newId } from '../../server/db/ids.ts'
import { makeReturnPath } from '../../server/domains/return-path.ts'
import { addresseesOf } from '../../server/inbound/addressee.ts'
import { type ListenerParts, listenForBounces } from '../../server/inbound/listener.ts'
import { readReport } from '../../server/inbound/report.ts'
import { CERTIFICATE } from '../harness/certificates.ts'
import { letArrive, quietFor } from '../harness/waits.ts'
import { type Client, deliver, openClient } from './client.ts'

const KEYS = [randomBytes(32), randomBytes(32)] as const
const TOKEN = makeReturnPath(KEYS[0], newId(Date.now()), 0)
const TO = `${TOKEN}@rp.example.test`

/** A listener that records what it received. */
async function listener(more: Partial<ListenerParts> = {}) {
  const mails: Parameters<ListenerParts['receive']>[0][] = []
  const errors: Error[] = []
  const { port, close } = await listenForBounces({
    host: '127.0.0.1',
    port: 0,
    name: 'bounces.example.test',
    addresseeOf: addresseesOf({ returnPathKeys: KEYS, returnPathHost: 'xn--bcher-kva.example' }),
    receive: async (mail) => void mails.push(mail),
    failed: (error) => void errors.push(error as Error),
    ...more,
  })
  onTestFinished(close)
  return { port, close, mails, errors }
}

async function client(port: number): Promise<Client> {
  const opened = await openClient(port)
  onTestFinished(opened.close)
  return opened
}

/** A client that has sent EHLO and, with a recipient, is ready to send DATA. */
async function greeted(port: number, to?: string): Promise<Client> {
  const opened = await client(port)
  await opened.say()
  for (const line of ['EHLO mx.example.net', ...(to ? ['MAIL FROM:<>', `RCPT TO:<${to}>`] : [])]) {
    expect(await opened.say(line)).toMatch(/^250/)
  }
  return opened
}

test('a mail to a return path is received with the message it belongs to, whatever its sender', async () => {
  const { port, mails } = await listener()
  expect(await deliver(port, TO, '.a\r\n..\r\nb')).toBe('250 2.0.0 Thank you')
  expect(await deliver(port, TO.toUpperCase(), 'x', 'ann@example.net')).toBe('250 2.0.0 Thank you')
  expect(mails.map(({ content }) => content.toString())).toEqual(['.a\r\n..\r\nb\r\n', 'x\r\n'])
  expect(new Set(mails.map(({ returnPath }) => returnPath?.messageId)).size).toBe(1)
})

test('a token of the key before the last rotation still counts, at any host', async () => {
  const { port, mails } = await listener()
  await deliver(port, `${makeReturnPath(KEYS[1], newId(Date.now()), 0)}@moved.example`, 'x')
  expect(mails).toHaveLength(1)
})

test('complaints have an address at every host of return paths', async () => {
  const { port, mails } = await listener()
  for (const to of ['fbl@rp.example.test', 'FBL@RP.other.test', 'fbl@xn--bcher-kva.example']) {
    expect(await deliver(port, to, 'x')).toMatch(/^250/)
  }
  expect(mails.map(({ returnPath }) => returnPath)).toEqual([undefined, undefined, undefined])
})

test.each([
  'ann@example.net',
  'fbl@example.net',
  'postmaster@rp.example.test',
  `b+01kctznv0zf3kanvqtfn6xkbd4000123456789abcdef@rp.example.test`,
  `b.01kctznv0zf3kanvqtfn6xkbd4.0123456789abcdef@rp.example.test`,
  `${TOKEN}x@rp.example.test`,
  `${TOKEN}%example.net@rp.example.test`,
])('nothing is relayed, and other addresses are refused: %s', async (to) => {
  const { port, mails } = await listener()
  expect(await deliver(port, to, 'x')).toBe('550 5.7.1 No relay')
  expect(mails).toEqual([])
})

test('neither a source route nor a second recipient sends a mail anywhere else', async () => {
  const { port, mails } = await listener()
  const { say } = await greeted(port, `@example.net:${TO}`)
  expect(await say(`RCPT TO:<${makeReturnPath(KEYS[0], newId(Date.now()), 0)}@rp.example.test>`)).toMatch(/^452/)
  expect(await say('RCPT TO:<ann@example.net>')).toMatch(/^452/)
  expect(await say('DATA')).toMatch(/^354/)
  expect(await say('x\r\n.')).toMatch(/^250/)
  expect(mails).toHaveLength(1)
})

test('when a mail cannot be processed, its sender is told to try again and the connection goes on', async () => {
  let isDown = true
  const { port, errors } = await listener({
    receive: async () => {
      if (isDown) throw new Error('no database')
    },
  })
  const { say } = await greeted(port, TO)
  await say('DATA')
  expect(await say('x\r\n.')).toBe('451 4.3.0 Not now, come again')
  isDown = false
  for (const line of ['MAIL FROM:<>', `RCPT TO:<${TO}>`, 'DATA']) await say(line)
  expect(await say('x\r\n.')).toBe('250 2.0.0 Thank you')
  expect(errors.map(({ message }) => message)).toEqual(['no database'])
})

test('the reply 250 comes after the mail is processed, not before', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { port } = await listener({ receive: () => promise })
  const { say } = await greeted(port, TO)
  await say('DATA')
  let said = ''
  const reply = say('x\r\n.').then((line) => {
    said = line
  })
  await quietFor(200)
  expect(said).toBe('')
  resolve()
  await reply
  expect(said).toMatch(/^250/)
})

test('STARTTLS is offered with a certificate, and not without; AUTH never', async () => {
  const offers = async (more: Partial<ListenerParts>) => {
    const { port } = await listener(more)
    const opened = await client(port)
    await opened.say()
    opened.write('EHLO a\r\nSTARTTLS\r\n')
    await opened.say()
    return { opened, reply: await opened.say() }
  }
  expect((await offers({})).reply).toMatch(/^500/)
  const { opened, reply } = await offers({ tls: CERTIFICATE })
  expect(reply).toMatch(/^220/)
  await opened.startTls()
  for (const line of ['EHLO a', 'MAIL FROM:<>', `RCPT TO:<${TO}>`]) expect(await opened.say(line)).toMatch(/^250/)
  expect(await opened.say('AUTH PLAIN AGEAYg==')).toMatch(/^500/)
  await opened.say('DATA')
  expect(await opened.say('x\r\n.')).toMatch(/^250/)
})

test('a mail over the limit is refused at its end, or before when its size is declared', async () => {
  const { port, mails } = await listener({ limits: { messageBytes: 10_000 } })
  expect(await deliver(port, TO, 'x'.repeat(9_990))).toMatch(/^250/)
  expect(await deliver(port, TO, 'x'.repeat(10_001))).toMatch(/^552/)
  const { say } = await greeted(port)
  expect(await say('MAIL FROM:<> SIZE=10001')).toMatch(/^552/)
  expect(mails).toHaveLength(1)
})

test('a client that never ends a mail or a line is cut off', async () => {
  const { port, mails } = await listener({ limits: { messageBytes: 10_000 } })
  const endless = await greeted(port, TO)
  await endless.say('DATA')
  endless.write(Buffer.alloc(300_000, 'x'))
  expect(await endless.say()).toMatch(/^421/)
  const line = await greeted(port)
  line.write('NOOP '.padEnd(3_000, 'x'))
  expect(await line.say()).toMatch(/^421/)
  expect(mails).toEqual([])
})

test('a client that talks before the greeting is refused', async () => {
  const { port } = await listener()
  const early = await client(port)
  early.write('EHLO spam.example\r\nMAIL FROM:<>\r\n')
  expect(await early.say()).toMatch(/^421/)
  expect(await early.say()).toBe('')
})

test('a client that is silent, or sends a little all the time, is disconnected', async () => {
  const { port } = await listener({ limits: { idleMs: 1_000, totalMs: 3_000 } })
  const idle = await greeted(port)
  expect(await idle.say()).toMatch(/^421 Timeout/)
  const slow = await greeted(port, TO)
  await slow.say('DATA')
  const drip = setInterval(() => slow.write('x'), 50)
  expect(await slow.say()).toBe('421 4.4.2 This takes too long')
  clearInterval(drip)
})

test('one address may have a few connections; when all are taken, the longest silent one makes room for a newcomer', async () => {
  const { port } = await listener({ limits: { connections: 6, connectionsPerNetwork: 4 } })
  const held = await Promise.all(Array.from({ length: 4 }, () => greeted(port)))
  expect(await (await client(port)).say()).toBe('421 4.7.0 Too many connections from you')
  const elsewhere = await Promise.all(
    ['127.0.0.2', '127.0.0.3'].map((address) => openClient(port, '127.0.0.1', address)),
  )
  for (const { say, close } of elsewhere) {
    onTestFinished(close)
    expect(await say()).toMatch(/^220/)
  }
  // It has spoken just now, and the next one has not.
  await held[0]!.say('MAIL FROM:<>')
  const more = await openClient(port, '127.0.0.1', '127.0.0.4')
  onTestFinished(more.close)
  expect(await more.say()).toMatch(/^220/)
  expect(await held[0]!.say('RSET')).toMatch(/^250/)
})

test('a client that tries recipient after recipient, or mail after mail, is disconnected', async () => {
  const { port } = await listener()
  const searching = await greeted(port)
  await searching.say('MAIL FROM:<>')
  for (let i = 0; i < 10; i++) expect(await searching.say(`RCPT TO:<user${i}@example.net>`)).toMatch(/^550/)
  expect(await searching.say('RCPT TO:<user@example.net>')).toMatch(/^421/)
  const busy = await greeted(port)
  for (let i = 0; i < 100; i++) {
    expect(await busy.say('MAIL FROM:<>')).toMatch(/^250/)
    await busy.say('RSET')
  }
  expect(await busy.say('MAIL FROM:<>')).toMatch(/^421/)
})

/** 9,000 bytes. */
const LINES = `${'x'.repeat(88)}\r\n`.repeat(100)

test('mails that are being read share a limit on memory; a sender over the limit is told to try again', async () => {
  const { port, mails, errors } = await listener({ limits: { messageBytes: 10_000, bytesHeld: 15_000 } })
  const first = await greeted(port, TO)
  await first.say('DATA')
  first.write(LINES)
  await letArrive(50)
  expect(await deliver(port, TO, LINES)).toBe('451 4.3.0 Not now, come again')
  expect(errors.map(({ message }) => message)).toEqual(['too much mail at a time'])
  expect(await first.say('.')).toMatch(/^250/)
  expect(await deliver(port, TO, LINES)).toMatch(/^250/)
  const gone = await greeted(port, TO)
  await gone.say('DATA')
  gone.write(LINES)
  await letArrive(50)
  gone.close()
  await letArrive(50)
  expect(await deliver(port, TO, LINES)).toMatch(/^250/)
  expect(mails).toHaveLength(3)
})

test('while the listener closes, it accepts no new connection, and replies to a mail in progress', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const isReceived = Promise.withResolvers<void>()
  const receive = () => {
    isReceived.resolve()
    return promise
  }
  const { port, close } = await listener({ receive })
  const { say } = await greeted(port, TO)
  await say('DATA')
  const reply = say('x\r\n.')
  await isReceived.promise
  const closed = close()
  expect(await deliver(port, TO, 'x')).toBe('')
  resolve()
  expect(await reply).toMatch(/^250/)
  await closed
})

test('a port in use is an error', async () => {
  const { port } = await listener()
  await expect(listener({ port })).rejects.toThrow('EADDRINUSE')
})

test('a report of 9 MB is received, with its statements and without the rest of the copy', async () => {
  const { port, mails } = await listener()
  const copy = `${'y'.repeat(76)}\r\n`.repeat(115_000)
  const mail = [
    'From: MAILER-DAEMON@mx.example.net',
    'Subject: Undelivered mail',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b\r\nContent-Type: text/plain\r\n\r\nIt did not work.',
    `--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: Hello\r\n\r\n${copy}`,
    '--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.net',
    '',
    'Final-Recipient: rfc822; ann@example.net\r\nAction: failed\r\nStatus: 5.1.1\r\n--b--',
  ].join('\r\n')
  expect(mail.length).toBeGreaterThan(8_900_000)
  expect(await deliver(port, TO, mail)).toMatch(/^250/)
  const [{ content }] = mails as [(typeof mails)[number]]
  expect(content.length).toBeLessThan(192 * 1024)
  expect(await readReport(content)).toMatchObject({ failures: [{ reason: 'mailbox_does_not_exist' }] })
})

test('the listener says whether the envelope has a sender', async () => {
  const { port, mails } = await listener()
  await deliver(port, TO, 'x')
  await deliver(port, TO, 'x', 'ann@example.net')
  expect(mails.map(({ hasNullSender }) => hasNullSender)).toEqual([true, false])
})

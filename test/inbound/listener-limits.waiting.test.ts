import { expect, onTestFinished, test } from 'vitest'
import { readReport } from '../../server/inbound/report.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letArrive } from '../harness/waits.ts'
import { deliver, openClient } from './client.ts'
import { client, greeted, listener, TO } from './listening.ts'

// What the listener takes from a client, and for how long.

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
  const more = untilEnd(await openClient(port, '127.0.0.1', '127.0.0.4'))
  expect(await more.say()).toMatch(/^220/)
  expect(await held[0]!.say('RSET')).toMatch(/^250/)
})

test('mails that wait for their turn fill the port for no other network', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  onTestFinished(() => resolve())
  const { port } = await listener({ receive: () => promise, limits: { connections: 6, connectionsPerNetwork: 3 } })
  const from = async (address: string) => {
    const one = untilEnd(await openClient(port, '127.0.0.1', address))
    for (const line of [undefined, 'EHLO mx.example.net', 'MAIL FROM:<>', `RCPT TO:<${TO}>`, 'DATA']) {
      expect(await one.say(line)).toMatch(/^[23]/)
    }
    return one.say('x\r\n.')
  }
  const replies = ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.2', '127.0.0.2', '127.0.0.2'].map(from)
  await letArrive(500)
  const other = from('127.0.1.1')
  expect(await Promise.race(replies)).toMatch(/^421/)
  await letArrive(500)
  resolve()
  expect(await other).toMatch(/^250/)
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

test('mails share a limit on memory, and a network has half of it; a sender over the limit is asked to try again', async () => {
  const { port, mails, errors } = await listener({ limits: { messageBytes: 10_000, bytesHeld: 30_000 } })
  const first = await greeted(port, TO)
  await first.say('DATA')
  first.write(LINES)
  await letArrive(50)
  expect(await deliver(port, TO, LINES)).toBe('451 4.3.0 Not now, come again')
  expect(errors.map(({ message }) => message)).toEqual(['too much mail at a time'])
  expect(await deliver(port, TO, LINES, '', '127.0.1.1')).toMatch(/^250/)
  expect(await first.say('.')).toMatch(/^250/)
  expect(await deliver(port, TO, LINES)).toMatch(/^250/)
  const gone = await greeted(port, TO)
  await gone.say('DATA')
  gone.write(LINES)
  await letArrive(50)
  gone.close()
  await letArrive(50)
  expect(await deliver(port, TO, LINES)).toMatch(/^250/)
  expect(mails).toHaveLength(4)
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

import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { newId } from '../../server/db/ids.ts'
import { makeReturnPath } from '../../server/domains/return-path.ts'
import type { ListenerParts } from '../../server/inbound/listener.ts'
import { ClientLeft } from '../../server/inbound/receive.ts'
import { CERTIFICATE, SECOND_CERTIFICATE } from '../harness/certificates.ts'
import { quietFor } from '../harness/waits.ts'
import { deliver } from './client.ts'
import { client, greeted, KEYS, listener, TO, TOKEN } from './listening.ts'

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

test('a client that leaves while its mail waits is no failure of the service', async () => {
  const { port, errors } = await listener({
    receive: async ({ content }) => {
      throw content.includes('waits') ? new ClientLeft('gone') : new Error('broken')
    },
  })
  expect(await deliver(port, TO, 'waits')).toMatch(/^451/)
  expect(await deliver(port, TO, 'x')).toMatch(/^451/)
  expect(errors.map(({ message }) => message)).toEqual(['broken'])
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

test('after a renewal, later clients get the new certificate', async () => {
  const { port, showCertificate } = await listener({ tls: CERTIFICATE })
  const presented = async () => {
    const opened = await greeted(port)
    await opened.say('STARTTLS')
    return opened.startTls()
  }
  const fingerprintOf = ({ cert }: { cert: string }) => new X509Certificate(cert).fingerprint256
  expect(await presented()).toBe(fingerprintOf(CERTIFICATE))
  showCertificate(SECOND_CERTIFICATE)
  expect(await presented()).toBe(fingerprintOf(SECOND_CERTIFICATE))
})

test('a port in use is an error', async () => {
  const { port } = await listener()
  await expect(listener({ port })).rejects.toThrow('EADDRINUSE')
})

test('the listener says whether the envelope has a sender', async () => {
  const { port, mails } = await listener()
  await deliver(port, TO, 'x')
  await deliver(port, TO, 'x', 'ann@example.net')
  expect(mails.map(({ hasNullSender }) => hasNullSender)).toEqual([true, false])
})

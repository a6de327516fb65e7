import fc from 'fast-check'
import { expect, test } from 'vitest'
import { messages, openMessages } from '../../server/db/schema.ts'
import { CERTIFICATE } from '../harness/certificates.ts'
import { eventually } from '../harness/eventually.ts'
import { BAD_MESSAGES } from '../mail/mime/raw/bad-messages.ts'
import { connectClient, plainLogin, stuffed } from './client.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, front, listenWith, loggedIn, send } = await startFrontWorld()
const { exchanger, db } = api.world

const idIn = (reply: string) => /msg_[0-9a-z]{26}/.exec(reply)![0]
const get = async (id: string) => (await api.call('GET', `/api/v1/emails/${id}`)).json
const countMessages = async () => (await db.$count(messages)) + (await db.$count(openMessages))

test("the reply to the final dot is the recipient server's own, after our message id", async () => {
  exchanger.script = { dot: '250 2.6.0 queued as 4F2A' }
  const reply = await send({ to: 'ann@example.net', content: letter() })
  expect(reply).toMatch(/^250 2\.6\.0 msg_[0-9a-z]{26}: queued as 4F2A$/)
  expect(await get(idIn(reply))).toMatchObject({
    status: 'delivered',
    raw: true,
    subject: 'Hello',
    to: ['ann@example.net'],
  })
  expect(exchanger.messages).toHaveLength(1)
})

test.each([
  ['550 5.1.1 No such user', /^550 5\.1\.1 msg_\w+: No such user$/],
  ['450 4.2.0 Greylisted', /^450 4\.2\.0 msg_\w+: Greylisted$/],
  ['552 5.2.2 Mailbox full', /^552 5\.2\.2 msg_\w+: Mailbox full$/],
])('%s to RCPT is the reply to the dot, with its own codes', async (rcpt, expected) => {
  exchanger.script = { rcpt }
  expect(await send({ to: `u${Math.random()}@example.net`, content: letter() })).toMatch(expected)
})

test('a message that goes in a circle is 554 5.4.6', async () => {
  const content = `${'Received: by a.example; Thu, 1 Jan 2026 00:00:00 +0000\r\n'.repeat(101)}${letter()}`
  expect(await send({ to: 'ann@example.net', content })).toMatch(/^554.5\.4\.6 .*over 100 Received headers/)
})

test('EHLO offers PIPELINING, 8BITMIME, SMTPUTF8, SIZE and AUTH', async () => {
  const client = await connectClient(front.port)
  const reply = await client.ask('EHLO client.test')
  expect(
    reply
      .split('\r\n')
      .map((line) => line.slice(4))
      .toSorted(),
  ).toEqual(
    ['8BITMIME', 'AUTH PLAIN LOGIN', 'PIPELINING', `SIZE ${15 * 2 ** 20}`, 'SMTPUTF8', 'verdict.test'].toSorted(),
  )
  client.end()
})

const LINES = [
  ...[
    'NONSENSE',
    'EHLO',
    'EHLO bad host',
    'HELO',
    'MAIL',
    'MAIL FROM:<>',
    'MAIL FROM:<x',
    'RCPT TO:<a@b.test>',
    'DATA',
  ],
  ...['MAIL FROM:<a@b.test> SIZE=x', 'MAIL FROM:<a@b.test> SIZE=99999999999', 'STARTTLS', 'AUTH', 'AUTH CRAM-MD5'],
  ...['AUTH PLAIN', 'AUTH PLAIN x', 'AUTH LOGIN', '*', 'VRFY ann', 'EXPN ann', 'SHELL', 'KILL', 'BDAT 5', 'LHLO a'],
]

test('every reply that refuses has an enhanced code', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...LINES), { maxLength: 8 }), fc.boolean(), async (lines, isLoggedIn) => {
      const client = await connectClient(front.port)
      if (isLoggedIn) await client.logIn(api.keys.live)
      for (const line of lines) {
        const reply = await client.ask(line)
        if (!/^[45]/.test(reply)) continue
        expect(reply.split('\r\n').filter((one) => !/^([45])\d\d[- ]\1\.\d{1,3}\.\d{1,3} /.test(one))).toEqual([])
      }
      client.end()
    }),
    { numRuns: 30 },
  )
})

test('AUTH PLAIN and LOGIN take any user name, and an API key as the password', async () => {
  const client = await connectClient(front.port)
  await client.ask('EHLO client.test')
  expect(await client.ask('AUTH LOGIN')).toMatch(/^334 /)
  expect(await client.ask(Buffer.from('anyone').toString('base64'))).toMatch(/^334 /)
  expect(await client.ask(Buffer.from(api.keys.live).toString('base64'))).toMatch(/^235/)
  client.end()
  const plain = await connectClient(front.port)
  expect(await plain.logIn(api.keys.live)).toMatch(/^235/)
  plain.end()
})

test('without a key nothing is taken, and wrong keys close the connection', async () => {
  const client = await connectClient(front.port)
  await client.ask('EHLO client.test')
  expect(await client.ask('MAIL FROM:<hello@example.test>')).toMatch(/^530/)
  expect(await client.ask(plainLogin('wrong'))).toMatch(/^535 5\.7\.8 This is not an API key/)
  const mistyped = api.keys.live.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'))
  expect(await client.ask(plainLogin(mistyped))).toMatch(/^535 5\.7\.8/)
  expect(await client.ask(plainLogin(''))).toMatch(/^535|^5/)
  expect(await client.reply()).toMatch(/^421 4\.7\.0|closed/)
})

test('a key sends from no domain of another account', async () => {
  const client = await loggedIn(api.keys.stranger)
  const reply = await client.send({ from: 'hello@example.test', to: ['ann@example.net'], content: letter() })
  // The other account has no such domain.
  expect(reply).toMatch(/^550 5\.7\.1 MAIL FROM names example\.test/)
  expect(exchanger.messages).toEqual([])
  client.end()
})

test('a test key is a dry run', async () => {
  const reply = await send({ key: api.keys.test, to: 'ann@example.net', content: letter() })
  expect(reply).toMatch(/^250 2\.0\.0 msg_\w+: dry run, nothing was sent$/)
  expect(await get(idIn(reply))).toMatchObject({ sandbox: true })
  expect(exchanger.messages).toEqual([])
})

test.each(BAD_MESSAGES)(
  '%s: 550 5.6.0 (a circle 554 5.4.6) with the words of the API, and nothing is sent or stored',
  async (_, content, fault) => {
    // A client that writes no final line end ends its message with one all the same.
    const written = Buffer.from(
      stuffed(content)
        .toString('latin1')
        .replace(/\.\r\n$/, '')
        .replace(/^\.\./gm, '.'),
      'latin1',
    )
    const before = await countMessages()
    const client = await loggedIn()
    const reply = await client.send({ from: 'hello@example.test', to: ['ann@example.net'], content: written })
    expect(reply.replace(/\r\n\d{3}.\d\.\d\.\d /g, ' ')).toMatch(
      /^(?:550.5\.6\.0|554.5\.4\.6) The message (?:has|holds|begins) /,
    )
    if (!/999 octets|at the end/.test(String(fault)))
      expect(reply.replace(/\r\n\d{3}.\d\.\d\.\d /g, ' ')).toMatch(fault)
    expect(await countMessages()).toBe(before)
    expect(exchanger.messages).toEqual([])
    client.end()
  },
)

test('MAIL FROM must be of a verified domain, and have an address', async () => {
  const client = await loggedIn()
  expect(await client.send({ from: 'a@pending.test', to: ['ann@example.net'], content: letter() })).toMatch(
    /^550 5\.7\.1 MAIL/,
  )
  expect(await client.send({ from: '', to: ['ann@example.net'], content: letter() })).toMatch(
    /^550 5\.7\.1 MAIL FROM must/,
  )
  client.end()
})

test('what is no answer of a server has a reply of its own: a fault of ours, no server, no connection', async () => {
  Object.assign(api.world.dns.zone, { 'MX broken.net': 'servfail', 'MX gone.net': 'nxdomain' })
  const before = await countMessages()
  expect(await send({ to: 'ann@broken.net', content: letter() })).toMatch(/^451 4\.3\.0 .*safe to retry/)
  expect(await countMessages()).toBe(before)
  expect(await send({ to: 'ann@gone.net', content: letter() })).toMatch(
    /^550 5\.1\.2 msg_\w+: gone\.net does not exist/,
  )
  exchanger.script = { dot: 'close' }
  expect(await send({ to: 'doubt@example.net', content: letter() })).toMatch(/^550 5\.4\.7 msg_/)
})

test('From in the header must be of a verified domain, whatever MAIL FROM says', async () => {
  const content = (from: string) => letter().replace('hello@example.test', from)
  expect(await send({ to: 'ann@example.net', content: content('eve@example.com') })).toMatch(
    /^550 5\.7\.1 .*example\.com is not a domain of this account/,
  )
  expect(await send({ to: 'ann@example.net', content: content('eve@pending.test') })).toMatch(
    /^550 5\.7\.1 msg_\w+: .*pending\.test/,
  )
  expect(exchanger.messages).toEqual([])
})

test('a DKIM-Signature and Resent fields of the message travel with it, beside our signature', async () => {
  const kept = 'DKIM-Signature: v=1; d=other.example; b=x\r\nResent-From: x@example.com\r\n'
  expect(await send({ to: 'ann@example.net', content: kept + letter() })).toMatch(/^250/)
  const [{ content }] = exchanger.messages as [(typeof exchanger.messages)[0]]
  expect(content).toContain(`\r\n${kept}`)
  expect(content).toMatch(/^DKIM-Signature: v=1; a=rsa-sha256; [\s\S]*d=example\.test/)
})

test('only syntax and the number are answered at RCPT; suppression is answered at the dot', async () => {
  await api.call('POST', '/api/v1/suppression', { body: { email: 'sup@example.net' } })
  const client = await loggedIn()
  await client.ask('MAIL FROM:<hello@example.test>')
  expect(await client.ask('RCPT TO:<sup@example.net>')).toMatch(/^250/)
  expect(await client.ask('RCPT TO:<a@b>')).toMatch(/^553 5\.1\.3|^501/)
  for (let i = 1; i < 50; i++) expect(await client.ask(`RCPT TO:<u${i}@example.net>`)).toMatch(/^250/)
  expect(await client.ask('RCPT TO:<u51@example.net>')).toMatch(/^452 4\.5\.3/)
  await client.ask('RSET')
  const reply = await client.send({ from: 'hello@example.test', to: ['sup@example.net'], content: letter() })
  expect(reply).toMatch(/^550 5\.7\.1 msg_\w+: sup@example\.net has been on the suppression list/)
  client.end()
})

test('several recipients: 250 that names those that failed; none delivered and one retryable: 451', async () => {
  exchanger.script = {
    rcpt: (line) => (/bad/.test(line) ? '550 5.1.1 no such user' : /slow/.test(line) ? '450 4.2.0 later' : undefined),
  }
  const partly = await send({ to: ['ok@example.net', 'bad@example.net'], content: letter() })
  expect(partly.split('\r\n')).toEqual([
    expect.stringMatching(/^250-2\.0\.0 msg_\w+: delivered to 1 of 2 recipients, not to:$/),
    '250 2.0.0 bad@example.net: 550 5.1.1 no such user',
  ])
  const none = await send({ to: ['slow@example.net', 'bad2@example.net'], content: letter() })
  expect(none).toMatch(/^451-4\.2\.0 msg_\w+: delivered to none:/)
})

test('a repeat gets the first answer and is never sent again; after a 4xx it is a new try, as a retry of the first', async () => {
  const content = letter()
  const first = await send({ to: 'ann@example.net', content })
  expect(await send({ to: 'ann@example.net', content })).toBe(first)
  expect(exchanger.messages).toHaveLength(1)

  exchanger.script = { rcpt: '450 4.2.0 later' }
  const again = letter()
  const refused = await send({ to: 'bob@example.net', content: again })
  expect(refused).toMatch(/^450/)
  const second = await send({ to: 'bob@example.net', content: again })
  expect(second).toMatch(/^450/)
  expect(idIn(second)).not.toBe(idIn(refused))
  exchanger.script = {}
  const third = await send({ to: 'bob@example.net', content: again })
  expect(third).toMatch(/^250/)
  expect(await get(idIn(third))).toMatchObject({ retry_of: idIn(second) })
  expect(await get(idIn(second))).toMatchObject({ retry_of: idIn(refused), retried_by: [idIn(third)] })
  expect(await send({ to: 'bob@example.net', content: again })).toBe(third)
})

test('a repeat with several recipients sends to those alone that have no final answer', async () => {
  exchanger.script = {
    rcpt: (line) => (/slow|bad/.test(line) ? (/bad/.test(line) ? '550 5.1.1 no' : '450 4.2.0 later') : undefined),
  }
  const content = letter()
  expect(await send({ to: ['slow3@example.net', 'bad3@example.net'], content })).toMatch(/^451/)
  exchanger.script = {}
  exchanger.messages.length = 0
  const reply = await send({ to: ['slow3@example.net', 'bad3@example.net', 'new3@example.net'], content })
  expect(reply).toMatch(/^250-2\.0\.0 (?:msg_\w+, ){2}msg_\w+: delivered to 2 of 3/)
  expect(reply).toContain('bad3@example.net: 550 5.1.1 no')
  expect(exchanger.messages.flatMap(({ to }) => to).toSorted()).toEqual(['new3@example.net', 'slow3@example.net'])
})

test('one Message-ID under two different messages is two messages; no Message-ID has no key', async () => {
  const id = '<same@example.test>'
  const [a, b] = [
    await send({ to: 'ann@example.net', content: letter(id, 'one') }),
    await send({ to: 'ann@example.net', content: letter(id, 'two') }),
  ]
  expect(idIn(a)).not.toBe(idIn(b))
  const [c, d] = [
    await send({ to: 'ann@example.net', content: letter('') }),
    await send({ to: 'ann@example.net', content: letter('') }),
  ]
  expect(idIn(c)).not.toBe(idIn(d))
  expect(exchanger.messages).toHaveLength(4)
})

test('of ten equal messages at the same moment one is sent, and all get its answer', async () => {
  const content = letter()
  const replies = await Promise.all(Array.from({ length: 10 }, () => send({ to: 'ten@example.net', content })))
  expect(new Set(replies).size).toBe(1)
  expect(exchanger.messages).toHaveLength(1)
})

test('a client that leaves after its final dot stops nothing, and its repeat gets the answer', async () => {
  let arrived = () => {}
  const dot = new Promise<void>((resolve) => {
    arrived = resolve
  })
  let release = (_: unknown) => {}
  const held = new Promise((resolve) => {
    release = resolve
  })
  exchanger.script = {
    dot: () => {
      arrived()
      return { after: held, act: '250 2.0.0 kept' }
    },
  }
  const content = letter()
  const client = await loggedIn()
  for (const line of ['MAIL FROM:<hello@example.test>', 'RCPT TO:<gone@example.net>', 'DATA']) await client.ask(line)
  client.write(stuffed(content))
  await dot
  client.destroy()
  release(undefined)
  const reply = await send({ to: 'gone@example.net', content })
  expect(reply).toMatch(/^250 2\.0\.0 msg_\w+: kept$/)
  expect(exchanger.messages).toHaveLength(1)
})

test('a client that leaves before its final dot sends nothing', async () => {
  const before = await countMessages()
  const client = await loggedIn()
  for (const line of ['MAIL FROM:<hello@example.test>', 'RCPT TO:<half@example.net>', 'DATA']) await client.ask(line)
  client.write(letter())
  client.end()
  await eventually(() => expect(front.connections()).toBe(0))
  expect(await countMessages()).toBe(before)
  expect(exchanger.messages).toEqual([])
})

test('dots at the start of a line travel as they are, in any pieces', async () => {
  const client = await loggedIn()
  for (const line of ['MAIL FROM:<hello@example.test>', 'RCPT TO:<dots@example.net>', 'DATA']) await client.ask(line)
  for (const octet of stuffed(letter(undefined, '.\r\n..\r\n.a\r\nb'))) client.write(Buffer.from([octet]))
  expect(await client.reply()).toMatch(/^250/)
  expect(exchanger.messages[0]!.content).toMatch(/\r\n\r\n\.\r\n\.\.\r\n\.a\r\nb\r\n$/)
  client.end()
})

test('declared 8-bit content is passed on, and pipelined messages are answered in their order', async () => {
  const client = await loggedIn()
  const content = letter().replace(
    '\r\n\r\n',
    '\r\nContent-Type: text/plain; charset=latin1\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGr\xfc\xdfe ',
  )
  const reply = await client.send({
    from: 'hello@example.test',
    to: ['ann@example.net'],
    content: Buffer.from(content, 'latin1'),
    parameters: ' BODY=8BITMIME',
  })
  expect(reply).toMatch(/^250/)
  expect(exchanger.messages[0]!.content).toContain('Gr\xfc\xdfe Hi')
  client.write('MAIL FROM:<hello@example.test> SIZE=100\r\nRCPT TO:<p@example.net>\r\nDATA\r\n')
  const replies = [await client.reply(), await client.reply(), await client.reply()]
  expect(replies.map((one) => one.slice(0, 3))).toEqual(['250', '250', '354'])
  client.write(Buffer.concat([stuffed(letter()), Buffer.from('QUIT\r\n')]))
  expect(await client.reply()).toMatch(/^250/)
  expect(await client.reply()).toMatch(/^221/)
})

test('beyond loopback a key is taken after STARTTLS only', async () => {
  const open = await listenWith({ host: '0.0.0.0', tls: CERTIFICATE })
  const client = await connectClient(open.port)
  const hello = await client.ask('EHLO client.test')
  expect(hello).toContain('STARTTLS')
  expect(hello).not.toContain('AUTH')
  for (const line of [plainLogin(api.keys.live), 'MAIL FROM:<hello@example.test>', 'RCPT TO:<ann@example.net>']) {
    expect(await client.ask(line)).toMatch(/^530 5\.7\.0 Use STARTTLS/)
  }
  await client.startTls()
  expect(await client.logIn(api.keys.live)).toMatch(/^235/)
  expect(await client.send({ from: 'hello@example.test', to: ['ann@example.net'], content: letter() })).toMatch(/^250/)
  client.end()
})

test('with implicit TLS the connection begins with the handshake', async () => {
  const open = await listenWith({ host: '0.0.0.0', tls: CERTIFICATE, implicitTls: true })
  const client = await connectClient(open.port, { secure: true })
  expect(await client.logIn(api.keys.live)).toMatch(/^235/)
  client.end()
})

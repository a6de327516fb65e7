import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { messages, openMessages } from '../../server/db/schema.ts'
import { sharesOfListeners } from '../../server/smtp-front/listener.ts'
import { eventually } from '../harness/eventually.ts'
import { outlast } from '../harness/waits.ts'
import { connectClient, plainLogin, stuffed } from './client.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, front, listenWith, loggedIn, send } = await startFrontWorld()
const { exchanger, db } = api.world
const countMessages = async () => (await db.$count(messages)) + (await db.$count(openMessages))

const sockets: Socket[] = []
afterAll(() => {
  for (const socket of sockets) socket.destroy()
})

const ENVELOPE = ['MAIL FROM:<hello@example.test>', 'RCPT TO:<ann@example.net>', 'DATA']

test.each([
  ['a dot between line feeds', '\n.\n'],
  ['a dot after a line feed', '\n.\r\n'],
  ['a dot before a line feed', '\r\n.\n'],
  ['a dot between carriage returns', '\r.\r'],
  ['a NUL before the line end', '\r\n.\0\r\n'],
])('%s ends no message, and what follows it is no command', async (_, end) => {
  const before = await countMessages()
  const client = await loggedIn()
  for (const line of ENVELOPE) await client.ask(line)
  const smuggled =
    'MAIL FROM:<hello@example.test>\r\nRCPT TO:<eve@example.net>\r\nDATA\r\nFrom: hello@example.test\r\n\r\nEvil'
  client.write(`${letter()}x${end}${smuggled}\r\n.\r\n`)
  expect(await client.reply()).toMatch(/^550.5\.6\.0 The message holds a /)
  expect(await client.ask('NOOP')).toMatch(/^250/)
  expect(exchanger.messages).toEqual([])
  expect(await countMessages()).toBe(before)
  client.end()
})

test('commands that were pipelined before STARTTLS are forgotten', async () => {
  const { CERTIFICATE } = await import('../harness/certificates.ts')
  const open = await listenWith({ host: '0.0.0.0', tls: CERTIFICATE })
  const client = await connectClient(open.port)
  await client.ask('EHLO client.test')
  client.write(`STARTTLS\r\nEHLO evil.test\r\n${plainLogin(api.keys.live)}\r\nMAIL FROM:<hello@example.test>\r\n`)
  expect(await client.reply()).toMatch(/^220/)
  // What follows the reply in clear would be an answer to a forgotten command.
  client.end()
  expect(await client.reply()).toBe('closed')
})

test('AUTH that is pipelined with a message is answered in its order; wrong keys take no message', async () => {
  const client = await connectClient(front.port)
  client.write(`EHLO c.test\r\n${plainLogin('svc_live_wrong')}\r\n${ENVELOPE.join('\r\n')}\r\n`)
  const replies = []
  for (let i = 0; i < 5; i++) replies.push((await client.reply()).slice(0, 3))
  expect(replies).toEqual(['250', '535', '530', '530', '530'])
  client.end()
  const good = await connectClient(front.port)
  good.write(`EHLO c.test\r\n${plainLogin(api.keys.live)}\r\n${ENVELOPE.join('\r\n')}\r\n`)
  const answers = []
  for (let i = 0; i < 5; i++) answers.push((await good.reply()).slice(0, 3))
  expect(answers).toEqual(['250', '235', '250', '250', '354'])
  good.write(stuffed(letter()))
  expect(await good.reply()).toMatch(/^250 /)
  good.end()
})

test('a command line of 15 MiB ends its connection', async () => {
  const client = await connectClient(front.port)
  client.write(Buffer.alloc(15 * 2 ** 20, 'A'))
  expect(await client.reply()).toMatch(/^421|closed/)
})

test('a line of content of 15 MiB is refused at its dot, and the session goes on', async () => {
  const client = await loggedIn()
  for (const line of ENVELOPE) await client.ask(line)
  client.write(Buffer.concat([Buffer.from(letter()), Buffer.alloc(14 * 2 ** 20, 'A'), Buffer.from('\r\n.\r\n')]))
  expect(await client.reply()).toMatch(/^550 5\.6\.0 The message has \d+ octets in line 7/)
  for (const line of ENVELOPE) await client.ask(line)
  client.write(Buffer.concat([Buffer.from(letter()), Buffer.alloc(16 * 2 ** 20, 'A'), Buffer.from('\r\n.\r\n')]))
  expect(await client.reply()).toMatch(/^552 5\.3\.4/)
  expect(await client.ask('NOOP')).toMatch(/^250/)
  expect(await client.ask('MAIL FROM:<hello@example.test> SIZE=99999999')).toMatch(/^552/)
  expect(exchanger.messages).toEqual([])
  client.end()
})

test('content without an end is cut off', async () => {
  const client = await loggedIn()
  for (const line of ENVELOPE) await client.ask(line)
  for (let i = 0; i < 40; i++) client.write(Buffer.alloc(2 ** 20, 'A'))
  expect(await client.reply()).toMatch(/^421 5\.3\.4|closed/)
})

test('messages of many small pieces take the memory of their octets', async () => {
  const client = await loggedIn()
  for (const line of ENVELOPE) await client.ask(line)
  client.write(Buffer.concat([Buffer.from(letter()), Buffer.from('..\r\n'.repeat(200_000)), Buffer.from('.\r\n')]))
  expect(await client.reply()).toMatch(/^250/)
  client.end()
})

test('1,000 idle connections without a key stop no program of another network, and end by themselves', async () => {
  const small = await listenWith({ limits: { loginMs: 3_000 } })
  const replies = await Promise.all(
    Array.from({ length: 1_000 }, () => {
      const socket = connect(small.port, '127.0.0.1')
      sockets.push(socket)
      return new Promise<string>((resolve) => {
        socket.once('data', (data) => resolve(data.toString()))
        socket.on('error', () => resolve('closed'))
        socket.on('close', () => resolve('closed'))
      })
    }),
  )
  const admitted = replies.filter((reply) => reply.startsWith('220')).length
  expect(admitted).toBeLessThanOrEqual(100)
  const other = await connectClient(small.port, { localAddress: '127.0.0.2' })
  expect(await other.logIn(api.keys.live)).toMatch(/^235/)
  expect(await other.send({ from: 'hello@example.test', to: ['ann@example.net'], content: letter() })).toMatch(/^250/)
  other.end()
  await Promise.all(
    sockets.map((socket) => socket.destroyed || new Promise((resolve) => socket.once('close', resolve))),
  )
  const again = await connectClient(small.port)
  expect(await again.logIn(api.keys.live)).toMatch(/^235/)
  again.end()
})

test('silent connections of any number of addresses keep no key holder out', async () => {
  const narrow = await listenWith({ limits: { connections: 20 } })
  for (let i = 0; i < 40; i++) sockets.push(connect({ port: narrow.port, localAddress: `127.0.0.${(i % 10) + 3}` }))
  for (const socket of sockets) socket.on('error', () => {})
  await eventually(() => expect(narrow.connections()).toBeGreaterThanOrEqual(10))
  const client = await connectClient(narrow.port, { localAddress: '127.0.1.1' })
  expect(await client.logIn(api.keys.live)).toMatch(/^235/)
  expect(narrow.connections()).toBeLessThanOrEqual(11)
  expect(await client.send({ from: 'hello@example.test', to: ['ann@example.net'], content: letter() })).toMatch(/^250/)
  client.end()
})

test('an account holds half of the memory of all ports at most, and each login may always hold 64 KiB', async () => {
  const shares = sharesOfListeners({ bytesHeld: 1_000_000 })
  const [narrow, other] = [await listenWith({ shares }), await listenWith({ shares })]
  const holding = await loggedIn(api.keys.live, other.port)
  for (const line of ENVELOPE) await holding.ask(line)
  holding.write(letter(undefined, 'x\r\n'.repeat(130_000)))
  const mail = (text: string) => ({
    from: 'hello@example.test',
    to: ['ann@example.net'],
    content: letter(undefined, text),
  })
  const client = await loggedIn(api.keys.live, narrow.port)
  // The other content may still be on its way.
  await eventually(async () => expect(await client.send(mail('x\r\n'.repeat(50_000)))).toMatch(/^452 4\.3\.1/))
  expect(await client.send(mail('x\r\n'.repeat(10_000)))).toMatch(/^250/)
  holding.destroy()
  client.end()
})

test('a slow client is cut off: without a key, and in the middle of its content', async () => {
  const quick = await listenWith({ limits: { loginMs: 500, contentMs: 500 } })
  const idle = await connectClient(quick.port)
  expect(await idle.reply()).toMatch(/^421 4\.4\.2/)
  const slow = await loggedIn(api.keys.live, quick.port)
  for (const line of ENVELOPE) await slow.ask(line)
  slow.write('From: hello@example.test\r\n')
  expect(await slow.reply()).toMatch(/^421 4\.4\.2/)
  expect(exchanger.messages).toEqual([])
})

const AUTH_LINES = fc.constantFrom(
  'AUTH LOGIN',
  'AUTH PLAIN',
  'dXNlcg==',
  '*',
  'AUTH LOGIN dXNlcg==',
  plainLogin('wrong'),
)

test('an AUTH that has begun has its time, in whatever lines it comes', async () => {
  const quick = await listenWith({ limits: { authMs: 300, wrongKeys: 100 } })
  await fc.assert(
    fc.asyncProperty(fc.array(AUTH_LINES, { maxLength: 5 }), async (lines) => {
      const client = await connectClient(quick.port)
      await client.ask('EHLO client.test')
      for (const line of lines) await client.ask(line)
      await client.ask('NOOP')
      await client.ask('*')
      expect(await client.ask('AUTH LOGIN')).toMatch(/^334/)
      const beganMs = performance.now()
      expect(await client.reply()).toMatch(/^421 4\.4\.2/)
      // The time of an AUTH is 300 ms here, and 10 s by default.
      expect(performance.now() - beganMs).toBeLessThan(5_000)
    }),
    { numRuns: 10 },
  )
  const other = await loggedIn(api.keys.live, quick.port)
  await outlast(500)
  expect(await other.ask('NOOP')).toMatch(/^250/)
  other.end()
})

test('a stranger that speaks keeps its place before one that is silent', async () => {
  const narrow = await listenWith({ limits: { connections: 4 } })
  const [speaking, silent] = [await connectClient(narrow.port), await connectClient(narrow.port)]
  await speaking.ask('EHLO client.test')
  const newcomer = await connectClient(narrow.port)
  expect(await silent.reply()).toMatch(/^421 4\.3\.2/)
  expect(await speaking.ask('NOOP')).toMatch(/^250/)
  for (const one of [speaking, newcomer]) one.end()
})

test('too much mail at a time is 452, and nothing is sent', async () => {
  const narrow = await listenWith({ limits: { bytesHeld: 100_000 } })
  const client = await loggedIn(api.keys.live, narrow.port)
  const content = letter(undefined, 'x\r\n'.repeat(100_000))
  const reply = await client.send({ from: 'hello@example.test', to: ['ann@example.net'], content })
  expect(reply).toMatch(/^452 4\.3\.1/)
  expect(exchanger.messages).toEqual([])
  client.end()
})

test('a drain waits for the reply to a dot, refuses new messages, and ends idle connections', async () => {
  const leaving = await listenWith()
  let release = (_: unknown) => {}
  const held = new Promise((resolve) => {
    release = resolve
  })
  let arrived = (_: unknown) => {}
  const dot = new Promise((resolve) => {
    arrived = resolve
  })
  exchanger.script = {
    dot: () => {
      arrived(undefined)
      return { after: held, act: '250 2.0.0 late' }
    },
  }
  const [busy, idle, midway] = [
    await loggedIn(api.keys.live, leaving.port),
    await loggedIn(api.keys.live, leaving.port),
    await loggedIn(api.keys.live, leaving.port),
  ]
  const sent = busy.send({ from: 'hello@example.test', to: ['drain@example.net'], content: letter() })
  await dot
  for (const line of ENVELOPE) await midway.ask(line)
  const closed = leaving.close({ timeoutMs: 10_000 })
  expect(await idle.reply()).toMatch(/^421 4\.3\.2/)
  midway.write(stuffed(letter()))
  expect(await midway.reply()).toMatch(/^421 4\.3\.2/)
  release(undefined)
  expect(await sent).toMatch(/^250 2\.0\.0 msg_\w+: late/)
  await closed
  expect(await send({ to: 'after@example.net', content: letter() })).toMatch(/^250/)
})

test('the log has a line for each message, without an address or a subject', async () => {
  expect(api.errors.filter((error) => /example\.net|Hello/.test(error))).toEqual([])
})

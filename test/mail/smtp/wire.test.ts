import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, expect, test, vi } from 'vitest'
import { type BrokenWire, Wire } from '../../../mail/smtp/wire.ts'
import { eventually } from '../../harness/eventually.ts'
import { listenUntilEnd } from '../../harness/until-end.ts'

// One conversation over a real connection, whose other end the test holds.

const server = createServer({ allowHalfOpen: true })
const port = await listenUntilEnd(server)
const theirEnds: Socket[] = []
afterAll(() => {
  for (const socket of theirEnds) socket.destroy()
})

async function conversation(owedReplies = 0) {
  const accepted = once(server, 'connection')
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const [theirs] = (await accepted) as [Socket]
  theirEnds.push(theirs)
  let received = ''
  theirs
    .on('error', () => {})
    .on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
  return { socket, theirs, wire: new Wire(socket, owedReplies), received: () => received }
}

const soon = () => performance.now() + 20
const late = () => performance.now() + 20_000
const reply = (code: number, ...lines: string[]) => ({ kind: 'reply', code, lines })
const closed = { kind: 'broken', how: 'closed' }

test('the replies to several commands are taken in their order, whether they came before or come later', async () => {
  const { wire, theirs, received } = await conversation(1)
  theirs.write('220-mx\r\n220 ready\r\n')
  expect(await wire.nextReply(late())).toEqual(reply(220, 'mx', 'ready'))
  wire.send('MAIL\r\nRCPT\r\nDATA\r\n', 3)
  theirs.write('250 one\r\n550 two\r\n')
  expect(await wire.nextReply(late())).toEqual(reply(250, 'one'))
  expect(await wire.nextReply(late())).toEqual(reply(550, 'two'))
  const third = wire.nextReply(late())
  theirs.write('354 thr')
  theirs.write('ee\r\n')
  expect(await third).toEqual(reply(354, 'three'))
  expect(received()).toBe('MAIL\r\nRCPT\r\nDATA\r\n')
  expect([wire.isQuiet(), wire.trouble()]).toEqual([true, undefined])
})

/** Errors of an open connection that this machine alone can cause, and those that another one can cause. */
const OUR_ERRNOS = ['ENOBUFS', 'ENOMEM', 'EMFILE', 'ENFILE', 'ENETDOWN', 'EPERM', 'EADDRNOTAVAIL']
const THEIR_ERRNOS = ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EACCES', 'EPROTO', '']

test('an error of this machine on an open connection is no end by the server, whenever it comes', async () => {
  const errnos = [
    ...OUR_ERRNOS.map((code) => ({ code, how: 'local' })),
    ...THEIR_ERRNOS.map((code) => ({ code, how: 'closed' })),
  ]
  for (const { code, how } of errnos)
    for (const isEarly of [true, false]) {
      const { socket, wire } = await conversation(1)
      const fail = () => socket.destroy(Object.assign(new Error('odd'), code && { code }))
      if (isEarly) fail()
      const broken = wire.nextReply(late())
      if (!isEarly) fail()
      expect(await broken).toMatchObject({ kind: 'broken', how, detail: code || 'odd' })
      // What ends it first stays.
      expect(wire.trouble()).toMatchObject({ how })
    }
})

test('a reply that does not come in time is a timeout, after which it is still read', async () => {
  const { wire, theirs } = await conversation(1)
  const timeout = await wire.nextReply(soon())
  expect(timeout).toMatchObject({ kind: 'broken', how: 'timeout', detail: 'out of time' })
  expect((timeout as BrokenWire).silentMs).toBeGreaterThan(10)
  expect([wire.trouble(), wire.isQuiet()]).toEqual([undefined, false])
  theirs.write('250 ok\r\n')
  expect(await wire.nextReply(late())).toEqual(reply(250, 'ok'))
})

test.each<[string, string, Partial<BrokenWire>]>([
  [
    'a reply to no command',
    '421 bye\r\n',
    { detail: 'a reply that answers no command', reply: { kind: 'reply', code: 421, lines: ['bye'] } },
  ],
  ['words that are no SMTP', 'oops\r\n421 bye\r\n', { detail: 'no reply code' }],
  [
    'a reply to no command and words that are no SMTP',
    '421 bye\r\noops\r\n',
    { detail: 'a reply that answers no command' },
  ],
  ['the beginning of a reply', '421', { detail: 'input that answers no command' }],
])('after %s nothing more is sent', async (_, text, trouble) => {
  const { wire, theirs, received } = await conversation()
  theirs.write(text)
  const expected = { kind: 'broken', how: 'garbage', ...trouble }
  await eventually(() => expect(wire.trouble()).toMatchObject(expected))
  wire.send('MAIL\r\n', 1)
  expect(await wire.nextReply(late())).toMatchObject(expected)
  expect(await wire.during(Promise.resolve(1), late())).toMatchObject(expected)
  expect(wire.isQuiet()).toBe(false)
  theirs.end()
  await eventually(() => expect(theirs.writableFinished).toBe(true))
  expect(wire.trouble()).toMatchObject(expected)
  expect(received()).toBe('')
})

test('a conversation is quiet while nothing is owed and every reply was taken', async () => {
  const { wire, theirs, socket } = await conversation()
  expect(wire.isQuiet()).toBe(true)
  wire.send('RSET\r\n', 1)
  expect(wire.isQuiet()).toBe(false)
  theirs.write('250 ok\r\n')
  await once(socket, 'data')
  expect(wire.isQuiet()).toBe(false)
  await wire.nextReply(late())
  expect(wire.isQuiet()).toBe(true)
  theirs.destroy()
  await eventually(() => expect(wire.isQuiet()).toBe(false))
})

test('a server that closes or resets ends the wait for its reply, and replies that came before count', async () => {
  const closing = await conversation(2)
  closing.theirs.end('220 ready\r\n')
  await eventually(() => expect(closing.wire.trouble()).toMatchObject({ ...closed, detail: 'closed' }))
  expect(await closing.wire.nextReply(late())).toEqual(reply(220, 'ready'))
  expect(await closing.wire.nextReply(late())).toMatchObject(closed)
  const resetting = await conversation(1)
  const waiting = resetting.wire.nextReply(late())
  resetting.theirs.resetAndDestroy()
  expect(await waiting).toMatchObject({ ...closed, detail: 'ECONNRESET' })
})

test('work ends with its result, or before it with the end of the conversation or the deadline', async () => {
  const never = new Promise<string>(() => {})
  const { wire, theirs } = await conversation(1)
  expect(await wire.during(Promise.resolve('done'), late())).toBe('done')
  await expect(wire.during(Promise.reject(new Error('no')), late())).rejects.toThrow('no')
  expect(await wire.during(never, soon())).toMatchObject({ how: 'timeout' })
  const broken = wire.during(never, late())
  theirs.destroy()
  expect(await broken).toMatchObject(closed)
})

test('late work disturbs no later wait, and work in time leaves no deadline behind', async () => {
  const { wire, theirs } = await conversation(2)
  const { promise, resolve } = Promise.withResolvers<void>()
  expect(await wire.during(promise, soon())).toMatchObject({ how: 'timeout' })
  const next = wire.nextReply(late())
  resolve()
  await promise
  theirs.write('250 one\r\n')
  expect(await next).toEqual(reply(250, 'one'))
  await wire.during(Promise.resolve(), soon())
  const second = wire.nextReply(late())
  theirs.write('250 two\r\n')
  expect(await second).toEqual(reply(250, 'two'))
})

test.each<[string, () => number, (theirs: Socket) => void]>([
  ['the server closes', late, (theirs) => theirs.end()],
  ['the server says something', late, (theirs) => theirs.write('421 bye\r\n')],
  ['its time is over', soon, () => {}],
])('an idle conversation ends once when %s', async (_, untilMs, act) => {
  const { wire, theirs } = await conversation()
  const onEnd = vi.fn()
  wire.watchIdle(untilMs(), onEnd)
  act(theirs)
  await eventually(() => expect(onEnd).toHaveBeenCalled())
  theirs.destroy()
  await eventually(() => expect(wire.trouble()).toBeDefined())
  expect(onEnd).toHaveBeenCalledOnce()
  const again = vi.fn()
  wire.watchIdle(late(), again)
  expect(again).toHaveBeenCalledOnce()
})

test('an idle conversation that is used again does not end', async () => {
  const { wire, theirs } = await conversation()
  const onEnd = vi.fn()
  wire.watchIdle(soon(), onEnd)
  wire.stopWatching()
  expect(await wire.during(new Promise(() => {}), performance.now() + 40)).toMatchObject({ how: 'timeout' })
  theirs.destroy()
  await eventually(() => expect(wire.trouble()).toBeDefined())
  expect(onEnd).not.toHaveBeenCalled()
})

test.each(['abandon', 'destroy'] as const)('%s closes the connection without QUIT', async (how) => {
  const { wire, theirs, socket, received } = await conversation(1)
  const waiting = wire.nextReply(late())
  wire[how]()
  if (how === 'abandon') expect(await waiting).toMatchObject({ how: 'left', detail: 'the caller left' })
  else expect(wire.trouble()).toMatchObject({ how: 'closed', detail: 'closed by us' })
  await eventually(() => expect(theirs.readableEnded).toBe(true))
  expect([socket.destroyed, received()]).toEqual([true, ''])
})

test('a socket that is handed over has no listener of the conversation, and no deadline rings', async () => {
  const { wire, theirs, socket } = await conversation(1)
  const before = ['data', 'error', 'end', 'close'].map((event) => socket.listenerCount(event))
  const next = vi.fn()
  void wire.nextReply(soon()).then(next)
  expect(wire.detach()).toBe(socket)
  const after = ['data', 'error', 'end', 'close'].map((event) => socket.listenerCount(event))
  expect(after).toEqual(before.map((count) => count - 1))
  const outside = await conversation(1)
  await outside.wire.nextReply(performance.now() + 40)
  theirs.write('250 not for the conversation\r\n')
  expect(await once(socket, 'data')).toEqual([Buffer.from('250 not for the conversation\r\n')])
  expect(next).not.toHaveBeenCalled()
})

test('a conversation that is quiet ends with QUIT, whatever the server says to that', async () => {
  const { wire, theirs, socket, received } = await conversation()
  const onClosed = vi.fn()
  wire.quit(onClosed)
  await eventually(() => expect(received()).toBe('QUIT\r\n'))
  expect([onClosed.mock.calls.length, socket.destroyed]).toEqual([0, false])
  theirs.end('what?\r\n')
  await eventually(() => expect(onClosed).toHaveBeenCalledOnce())
  const again = vi.fn()
  wire.quit(again)
  expect(again).toHaveBeenCalledOnce()
})

test('a conversation with an open question ends without QUIT', async () => {
  const { wire, theirs, received } = await conversation(1)
  const onClosed = vi.fn()
  wire.quit(onClosed)
  await eventually(() => expect(theirs.readableEnded).toBe(true))
  await eventually(() => expect(onClosed).toHaveBeenCalledOnce())
  expect(received()).toBe('')
})

test('content arrives whole and in order, however it is cut', async () => {
  const { wire, theirs, received } = await conversation()
  const sizes = [1, 262_143, 1, 262_144, 600_000, 3]
  const pieces = sizes.map((size, i) => Buffer.alloc(size, `${i}`))
  await wire.sendContent(pieces)
  await eventually(() => expect(received()).toHaveLength(sizes.reduce((sum, size) => sum + size)))
  expect(received() === pieces.join('')).toBe(true)
  theirs.pause()
  const stuck = wire.sendContent([Buffer.alloc(20_000_000)])
  expect(await wire.during(stuck, soon())).toMatchObject({ how: 'timeout' })
  const sent = wire.during(stuck, late())
  theirs.destroy()
  expect(await sent).toMatchObject(closed)
})

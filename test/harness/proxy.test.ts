import { connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { startProxy, type TcpProxy } from './proxy.ts'
import { listenUntilEnd, untilEnd } from './until-end.ts'
import { letArrive, quietFor } from './waits.ts'

/** Starts an echo server that adds angle brackets, behind a proxy. `log` records what each end notices. */
async function setUp(onMessage?: TcpProxy['onMessage']) {
  const log = { received: '', echoed: '', ends: [] as string[] }
  const note = (who: string, socket: Socket) => {
    socket.on('end', () => log.ends.push(`${who} end`))
    socket.on('error', (error: NodeJS.ErrnoException) => log.ends.push(`${who} ${error.code}`))
  }
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    note('server', socket)
    socket.on('data', (bytes) => {
      log.received += bytes
      socket.write(`<${bytes}>`)
    })
  })
  const port = await listenUntilEnd(server)
  const proxy = untilEnd(await startProxy({ host: '127.0.0.1', port }))
  if (onMessage) proxy.onMessage = onMessage

  function dial(): Socket {
    const client = connect({ host: '127.0.0.1', port: proxy.port, allowHalfOpen: true, noDelay: true })
    note('client', client)
    return client.on('data', (bytes) => {
      log.echoed += bytes
    })
  }

  /** Sends a word and waits for its echo. */
  async function say(client: Socket, word: string): Promise<void> {
    client.write(word)
    await expect.poll(() => log.echoed).toContain(`<${word}>`)
  }
  return { log, proxy, dial, say }
}

/** Performs the act on messages that consist of this word. */
const on =
  (word: string, act: ReturnType<TcpProxy['onMessage']>): TcpProxy['onMessage'] =>
  ({ bytes }) =>
    bytes.toString() === word ? act : undefined

test('the proxy passes messages on and numbers them, with their direction and connection', async () => {
  const messages: string[] = []
  const { proxy, dial, say } = await setUp(({ n, connection, direction, bytes }) => {
    messages.push(`${n} ${connection} ${direction} ${bytes}`)
    return undefined
  })
  const first = dial()
  for (const word of ['a', 'b']) await say(first, word)
  await say(dial(), 'c')
  expect(messages).toEqual(['1 1 up a', '2 1 down <a>', '3 1 up b', '4 1 down <b>', '5 2 up c', '6 2 down <c>'])
  expect([proxy.count, proxy.ports.length]).toEqual([6, 2])
})

test('the proxy passes the end of a stream on, one direction at a time', async () => {
  const { log, dial } = await setUp()
  dial().end('bye')
  await expect.poll(() => log).toEqual({ received: 'bye', echoed: '<bye>', ends: ['server end'] })
})

test('drop loses one message and passes those that follow', async () => {
  const { log, dial, say } = await setUp(on('b', 'drop'))
  const client = dial()
  await say(client, 'a')
  client.write('b')
  await letArrive(50)
  await say(client, 'c')
  expect(log.received).toBe('ac')
})

test('reset resets the connections on both sides', async () => {
  const { log, dial, say } = await setUp(on('b', 'reset'))
  const client = dial()
  await say(client, 'a')
  client.write('b')
  await expect.poll(() => log.ends.toSorted()).toEqual(['client ECONNRESET', 'server ECONNRESET'])
  expect(log.received).toBe('a')
})

test('half_close passes the message on and then ends its direction', async () => {
  const { log, dial, say } = await setUp(on('<a>', 'half_close'))
  const client = dial()
  await say(client, 'a')
  client.write('b')
  await expect.poll(() => log).toEqual({ received: 'ab', echoed: '<a>', ends: ['client end'] })
})

test('hang stops everything on the connection, even its end', async () => {
  const { log, dial } = await setUp(on('<a>', 'hang'))
  const client = dial()
  client.write('a')
  await expect.poll(() => log.received).toBe('a')
  client.end('b')
  await quietFor(50)
  client.resetAndDestroy()
  await quietFor(50)
  expect(log).toEqual({ received: 'a', echoed: '', ends: [] })
})

test('a fault after the first bytes of a message passes at most these bytes', async () => {
  const { log, dial } = await setUp(on('12345', { bytes: 2, act: 'reset' }))
  dial().write('12345')
  await expect.poll(() => log.ends).toContain('client ECONNRESET')
  expect('12').toContain(log.received)
})

test('a delay keeps the order of messages in its direction', async () => {
  const { log, dial } = await setUp(on('a', { afterMs: 100, act: 'pass' }))
  const client = dial()
  client.write('a')
  await letArrive(20)
  client.write('b')
  await expect.poll(() => log.received).not.toBe('')
  await expect.poll(() => log.received).toBe('ab')
})

test('the proxy resets connections while it has no target, and serves them again with one', async () => {
  const { log, proxy, dial, say } = await setUp()
  const { target } = proxy
  proxy.target = undefined
  dial()
  await expect.poll(() => log.ends).toEqual(['client ECONNRESET'])
  proxy.target = target
  await say(dial(), 'a')
})

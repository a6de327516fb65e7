import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { CERTIFICATE } from '../harness/certificates.ts'
import { eventually } from '../harness/eventually.ts'
import { connectClient } from './client.ts'
import { startFrontWorld } from './world.ts'

// A socket is a guest of the door from its acceptance on, and one that has to leave is gone within 200 ms.

const { api, listenWith } = await startFrontWorld({ tls: CERTIFICATE })

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** A connection whose client sends nothing and never closes its side. */
async function idle(port: number) {
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1', allowHalfOpen: true })
  sockets.push(socket.on('error', () => {}).resume())
  await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  return socket
}

const idleOnes = (count: number, port: number) => Promise.all(Array.from({ length: count }, () => idle(port)))

test.each([
  ['TLS', true],
  ['SMTP', false],
])('idle sockets of one address close the port of %s for no other address', async (_, implicitTls) => {
  const front = await listenWith({ implicitTls, limits: { connections: 20, strangersPerNetwork: 5 } })
  await idleOnes(200, front.port)
  await eventually(() => expect(front.connections()).toBe(5))
  for (let i = 0; i < 5; i++) {
    const other = await connectClient(front.port, { localAddress: '127.0.1.1', secure: implicitTls })
    expect(await other.logIn(api.keys.live)).toMatch(/^235/)
    other.end()
  }
})

test('a handshake of TLS has its time, and its socket the place of a client without a key', async () => {
  const limits = { connections: 20, strangersPerNetwork: 5, handshakeMs: 300 }
  const front = await listenWith({ implicitTls: true, limits })
  const held = await idleOnes(5, front.port)
  // The start of a handshake, which goes on octet by octet.
  for (const socket of held) socket.write(Buffer.from([22, 3, 1, 2]))
  const drip = setInterval(() => held[0]!.write(Buffer.from([0])), 50)
  const refused = await connectClient(front.port, { secure: true })
  expect(await refused.reply()).toBe('closed')
  await eventually(() => expect(front.connections()).toBe(0))
  clearInterval(drip)
  const client = await connectClient(front.port, { secure: true })
  expect(await client.logIn(api.keys.live)).toMatch(/^235/)
  client.end()
})

test('a handshake makes room for a newcomer of another network, also halfway', async () => {
  const front = await listenWith({ implicitTls: true, limits: { connections: 8 } })
  const held = await idleOnes(4, front.port)
  for (const socket of held) socket.write(Buffer.from([22, 3, 1, 2]))
  const other = await connectClient(front.port, { localAddress: '127.0.1.1', secure: true })
  expect(await other.logIn(api.keys.live)).toMatch(/^235/)
  await eventually(() => expect(held.filter((socket) => socket.readableEnded)).toHaveLength(1))
  other.end()
})

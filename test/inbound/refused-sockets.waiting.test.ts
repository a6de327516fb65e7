import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { pauseFor } from '../harness/waits.ts'
import { openClient } from './client.ts'
import { listener } from './listening.ts'

// A client that has to leave is gone within 200 ms, whatever it does with its side of the connection.

const limits = { connections: 4, connectionsPerNetwork: 2 }

/** A connection whose client never closes its side. */
function halfOpen(port: number, localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  return socket.on('error', () => {})
}

test('an address that connects without an end, and never closes, keeps no other address out', async () => {
  const { port } = await listener({ limits })
  const flood = setInterval(() => {
    for (let i = 0; i < 10; i++) halfOpen(port).resume()
  }, 20)
  onTestFinished(() => clearInterval(flood))
  await pauseFor(500)
  for (let i = 0; i < 10; i++) {
    const other = await openClient(port, '127.0.0.1', '127.0.1.1')
    expect(await other.say()).toMatch(/^220/)
    other.close()
  }
})

test('one that is refused, or makes room, reads why, and its connection is closed', async () => {
  const { port } = await listener({ limits })
  const greeted = async (address: string) => {
    const socket = halfOpen(port, address)
    const [reply] = await once(socket, 'data')
    return { socket, reply: String(reply) }
  }
  const first = await greeted('127.0.0.1')
  await greeted('127.0.0.1')
  const refused = await greeted('127.0.0.1')
  expect(refused.reply).toBe('421 4.7.0 Too many connections from you\r\n')
  const away = once(first.socket, 'data')
  for (const address of ['127.0.1.1', '127.0.2.1', '127.0.3.1']) expect((await greeted(address)).reply).toMatch(/^220/)
  expect(String(await away)).toMatch(/^421/)
  await pauseFor(250)
  for (const { socket } of [refused, first]) {
    // Where nothing is left, the system answers with a reset.
    const closed = new Promise((resolve) => socket.resume().once('close', () => resolve('closed')))
    for (const octet of ['N', 'O']) {
      socket.write(octet)
      await pauseFor(20)
    }
    expect(await Promise.race([closed, pauseFor(1_000).then(() => 'still open')])).toBe('closed')
  }
})

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test, vi } from 'vitest'
import { createWire } from '../../server/smtp/wire.ts'

test('a server that never reads QUIT keeps the socket open for a second, no longer', async () => {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [theirs] = await accepted
  createWire(socket, 0).quit()
  expect(socket.destroyed).toBe(false)
  await vi.waitFor(() => expect(socket.destroyed).toBe(true), 2_000)
  theirs.destroy()
  server.close()
})

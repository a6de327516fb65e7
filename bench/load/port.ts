import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A free port on loopback. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until a server accepts connections on the port. */
export async function untilListening(port: number, withinMs = 10_000): Promise<void> {
  for (const deadline = performance.now() + withinMs; ; await sleep(20)) {
    const socket = connect(port, '127.0.0.1')
    const accepted = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (accepted) return
    if (performance.now() > deadline) throw new Error(`No server listens on port ${port} after ${withinMs / 1_000} s`)
  }
}

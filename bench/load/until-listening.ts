import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

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

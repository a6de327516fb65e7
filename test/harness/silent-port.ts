import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { endWithUs } from './end-with-us.ts'
import { within } from './waits.ts'

export interface SilentPort {
  host: string
  port: number
  close(): void
}

const LISTENER = `
  const server = require('node:net').createServer()
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))
`

/** Opens a port that neither accepts nor refuses connections: its process is stopped and its backlog is full. */
export async function startSilentPort(): Promise<SilentPort> {
  const listener = endWithUs(spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'ignore'] }))
  const [line] = await once(listener.stdout, 'data')
  const address = { host: '127.0.0.1', port: Number(String(line)) }
  listener.kill('SIGSTOP')
  const backlog: Socket[] = []
  let isAccepted = true
  while (isAccepted) {
    const socket = connect(address).on('error', () => {})
    backlog.push(socket)
    await within(300, once(socket, 'connect'), undefined)
    // After a stall the timer is over first, although the connection was accepted meanwhile.
    await new Promise(setImmediate)
    isAccepted = !socket.connecting
    if (backlog.length > 100) throw new Error('no port can be made silent here')
  }
  return {
    ...address,
    close() {
      for (const socket of backlog) socket.destroy()
      listener.kill('SIGKILL')
    },
  }
}

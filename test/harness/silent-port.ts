import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { endWithUs } from './end-with-us.ts'
import { within } from './waits.ts'

export interface SilentPort {
  host: string
  port: number
  /** Resolves when the port is free. */
  close(): Promise<void>
}

const LISTENER = `
  const server = require('node:net').createServer()
  const [host, port] = process.argv.slice(1)
  server.listen({ port: Number(port), host, backlog: 1 }, () => console.log(server.address().port))
`

/** Opens a port that neither accepts nor refuses connections: its process is stopped and its backlog is full. */
export async function startSilentPort(host = '127.0.0.1', port = 0): Promise<SilentPort> {
  const listener = endWithUs(
    spawn(process.execPath, ['-e', LISTENER, host, String(port)], { stdio: ['ignore', 'pipe', 'ignore'] }),
  )
  const [line] = await once(listener.stdout, 'data')
  const address = { host, port: Number(String(line)) }
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
    async close() {
      for (const socket of backlog) socket.destroy()
      const ended = listener.exitCode ?? listener.signalCode ?? once(listener, 'exit')
      listener.kill('SIGKILL')
      await ended
    },
  }
}

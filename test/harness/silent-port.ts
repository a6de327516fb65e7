import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { endWithUs } from './end-with-us.ts'

export interface SilentPort {
  host: string
  port: number
  close(): void
}

const LISTENER = `
  const server = require('node:net').createServer()
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))
`

/** A port that neither accepts nor refuses: its process is stopped, and so many wait for it that no more are let in. */
export async function startSilentPort(): Promise<SilentPort> {
  const listener = endWithUs(spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'ignore'] }))
  const [line] = await once(listener.stdout, 'data')
  const place = { host: '127.0.0.1', port: Number(String(line)) }
  listener.kill('SIGSTOP')
  const waiting: Socket[] = []
  let isLetIn = true
  while (isLetIn) {
    const socket = connect(place).on('error', () => {})
    waiting.push(socket)
    isLetIn = await Promise.race([once(socket, 'connect').then(() => true), sleep(300).then(() => false)])
    if (waiting.length > 100) throw new Error('no port can be made silent here')
  }
  return {
    ...place,
    close() {
      for (const socket of waiting) socket.destroy()
      listener.kill('SIGKILL')
    },
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

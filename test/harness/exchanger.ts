import { createServer, type Server, type Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { type Conversations, converse } from './smtp-conversation.ts'
import type { Script, Verb } from './smtp-script.ts'

export interface Exchanger extends Conversations {
  port: number
  host: string
  /** Forgets its script and the messages. Sessions stay, because connections are kept. */
  reset(): void
  close(): Promise<void>
}

/** Starts a mail exchanger on loopback that behaves as its script says and records what it receives. */
export async function startExchanger(
  script: Script = {},
  options: TlsOptions & { port?: number } = {},
  host = '127.0.0.1',
): Promise<Exchanger> {
  const { port = 0, ...tls } = options
  const sockets = new Set<Socket>()
  const times = new Map<Verb, number>()
  const exchanger: Exchanger = { port: 0, host, script, delayMs: 0, sessions: [], messages: [], reset, close }

  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    converse(socket, exchanger, (verb) => times.set(verb, (times.get(verb) ?? 0) + 1).get(verb)! - 1, tls)
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const address = server.address()
  exchanger.port = typeof address === 'object' && address ? address.port : 0

  function reset(): void {
    exchanger.script = {}
    exchanger.messages.length = 0
  }
  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return exchanger
}

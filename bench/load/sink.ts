import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { startWorker, work } from './process.ts'

export interface Sink extends AsyncDisposable {
  port: number
  pids: number[]
  /** Messages accepted so far. */
  count(): Promise<number>
}

interface SinkState {
  port: number
  messages: number
}

/**
 * Starts an SMTP server in its own process that offers PIPELINING, accepts everything and stores nothing. `rttMs`
 * delays every segment of either side by half of it, like a long line; it does not delay the handshake of the
 * connection. `holdMs` delays the acceptance of a message after its final dot.
 */
export async function startSink({ rttMs = 0, holdMs = 0 } = {}): Promise<Sink> {
  const worker = await startWorker<object, SinkState>(import.meta.filename, [String(rttMs), String(holdMs)])
  return {
    port: (await worker.ask({})).port,
    pids: [worker.pid],
    count: async () => (await worker.ask({})).messages,
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

const REPLIES: Record<string, string> = {
  EHLO: '250-sink.test\r\n250-PIPELINING\r\n250 8BITMIME\r\n',
  HELO: '250 sink.test\r\n',
  MAIL: '250 2.1.0 ok\r\n',
  RCPT: '250 2.1.5 ok\r\n',
  DATA: '354 go ahead\r\n',
  RSET: '250 2.0.0 ok\r\n',
  NOOP: '250 2.0.0 ok\r\n',
  QUIT: '221 2.0.0 bye\r\n',
}
const END = Buffer.from('\r\n.\r\n')

function serve(halfMs: number, holdMs: number): void {
  let messages = 0
  const server = createServer({ noDelay: true }, converse)

  function converse(socket: Socket): void {
    let line = ''
    /** The end of the content so far, which may contain the start of the final dot. Undefined between two messages. */
    let tail: Buffer | undefined
    const reply = (text: string, moreMs = 0) =>
      later(halfMs + moreMs, () => socket.writable && socket.write(text, 'latin1'))
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => later(halfMs, () => read(chunk)))
    reply('220 sink.test ESMTP\r\n')

    function read(chunk: Buffer): void {
      let replies = ''
      for (let rest = chunk; rest.length > 0; ) {
        if (tail) {
          const content = Buffer.concat([tail, rest])
          const end = content.indexOf(END)
          rest = end < 0 ? rest.subarray(rest.length) : content.subarray(end + END.length)
          tail = end < 0 ? content.subarray(1 - END.length) : undefined
          if (end < 0) continue
          messages++
          reply('250 2.0.0 accepted\r\n', holdMs)
        } else {
          const end = rest.indexOf('\n')
          line += rest.toString('latin1', 0, end < 0 ? rest.length : end + 1)
          rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1)
          if (end < 0) continue
          const verb = line.slice(0, 4).toUpperCase()
          line = ''
          if (verb === 'DATA') tail = Buffer.from('\r\n')
          replies += REPLIES[verb] ?? '500 5.5.2 what?\r\n'
          if (verb === 'QUIT') later(halfMs, () => socket.end())
        }
      }
      if (replies) reply(replies)
    }
  }

  server.listen(0, '127.0.0.1')
  once(server, 'listening').then(() => {
    work(async (): Promise<SinkState> => ({ port: (server.address() as AddressInfo).port, messages }))
  })
}

function later(ms: number, act: () => void): void {
  if (ms === 0) act()
  else setTimeout(act, ms)
}

if (import.meta.main) serve(Number(process.argv[2]) / 2, Number(process.argv[3]))

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { startWorker, work } from './process.ts'

export interface Sink extends AsyncDisposable {
  port: number
  pids: number[]
  /** Messages accepted so far. */
  count(): Promise<number>
}

interface Told {
  port: number
  messages: number
}

/**
 * An SMTP server in a process of its own that offers PIPELINING, accepts everything and forgets it. With `rttMs` every segment
 * of either side arrives half of it later, as over a long line; the connection's own handshake does not. With `holdMs` a message
 * is accepted that much after its final dot.
 */
export async function startSink({ rttMs = 0, holdMs = 0 } = {}): Promise<Sink> {
  const worker = await startWorker<object, Told>(import.meta.filename, [String(rttMs), String(holdMs)])
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
    /** The end of the content so far, in which its final dot may have begun; undefined between two messages. */
    let tail: Buffer | undefined
    const say = (text: string, moreMs = 0) =>
      later(halfMs + moreMs, () => socket.writable && socket.write(text, 'latin1'))
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => later(halfMs, () => hear(chunk)))
    say('220 sink.test ESMTP\r\n')

    function hear(chunk: Buffer): void {
      let replies = ''
      for (let rest = chunk; rest.length > 0; ) {
        if (tail) {
          const seen = Buffer.concat([tail, rest])
          const end = seen.indexOf(END)
          rest = end < 0 ? rest.subarray(rest.length) : seen.subarray(end + END.length)
          tail = end < 0 ? seen.subarray(1 - END.length) : undefined
          if (end < 0) continue
          messages++
          say('250 2.0.0 accepted\r\n', holdMs)
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
      if (replies) say(replies)
    }
  }

  server.listen(0, '127.0.0.1')
  once(server, 'listening').then(() => {
    work(async (): Promise<Told> => ({ port: (server.address() as AddressInfo).port, messages }))
  })
}

function later(ms: number, act: () => void): void {
  if (ms === 0) act()
  else setTimeout(act, ms)
}

if (import.meta.main) serve(Number(process.argv[2]) / 2, Number(process.argv[3]))

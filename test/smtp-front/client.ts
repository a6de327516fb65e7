import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

/** A client of SMTP that writes what the test says, and reads whole replies. */
export interface SmtpClient {
  /** Writes without waiting. */
  write(text: string | Buffer): void
  /** The next reply, its lines with CRLF between them; 'closed' when the connection has ended. */
  reply(): Promise<string>
  /** Writes a line and reads the reply to it. */
  ask(line: string): Promise<string>
  startTls(): Promise<void>
  /** EHLO, and AUTH PLAIN with this key. */
  logIn(key: string): Promise<string>
  /** LHLO, and AUTH PLAIN with this key. */
  logInToLmtp(key: string): Promise<string>
  /** One message in its transaction; returns the reply to the final dot. */
  send(mail: { from: string; to: readonly string[]; content: string | Buffer; parameters?: string }): Promise<string>
  end(): void
  destroy(): void
  /** Sends RST, in clear text only. */
  reset(): void
}

export const plainLogin = (key: string) => `AUTH PLAIN ${Buffer.from(`\0user\0${key}`).toString('base64')}`

/** The content with doubled dots and the final one. */
export function stuffed(content: string | Buffer): Buffer {
  const text = Buffer.from(content).toString('latin1').replace(/^\./gm, '..')
  return Buffer.from(`${text}${text.endsWith('\r\n') ? '' : '\r\n'}.\r\n`, 'latin1')
}

export async function connectClient(
  port: number,
  { host = '127.0.0.1', localAddress, secure }: { host?: string; localAddress?: string; secure?: boolean } = {},
): Promise<SmtpClient> {
  const tcp = connect({ port, host, localAddress })
  let socket: Socket | TLSSocket = secure ? connectTls({ socket: tcp, rejectUnauthorized: false }) : tcp
  let buffer = ''
  let isClosed = false
  let wake: (() => void) | undefined
  const listen = () => {
    socket.on('data', (data) => {
      buffer += data.toString('latin1')
      wake?.()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      isClosed = true
      wake?.()
    })
  }
  listen()

  async function reply(): Promise<string> {
    for (;;) {
      const [whole] = /^(?:\d{3}-[^\r]*\r\n)*\d{3}(?: [^\r]*)?\r\n/.exec(buffer) ?? []
      if (whole !== undefined) {
        buffer = buffer.slice(whole.length)
        return whole.slice(0, -2)
      }
      if (isClosed) return 'closed'
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  const write = (text: string | Buffer) => void socket.write(text)
  const ask = (line: string) => {
    write(`${line}\r\n`)
    return reply()
  }
  const client: SmtpClient = {
    write,
    reply,
    ask,
    async startTls() {
      await ask('STARTTLS')
      const plain = socket
      plain.removeAllListeners('data')
      socket = connectTls({ socket: plain, rejectUnauthorized: false })
      listen()
      await new Promise((resolve) => socket.once('secureConnect', resolve))
    },
    async logIn(key) {
      await ask('EHLO client.test')
      return ask(plainLogin(key))
    },
    async logInToLmtp(key) {
      await ask('LHLO client.test')
      return ask(plainLogin(key))
    },
    async send({ from, to, content, parameters = '' }) {
      for (const line of [`MAIL FROM:<${from}>${parameters}`, ...to.map((one) => `RCPT TO:<${one}>`), 'DATA']) {
        const answer = await ask(line)
        if (!/^[23]/.test(answer)) {
          await ask('RSET')
          return answer
        }
      }
      write(stuffed(content))
      return reply()
    },
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
    reset: () => void socket.resetAndDestroy(),
  }
  await reply()
  return client
}

import { connect, type Socket } from 'node:net'
import { connect as secure } from 'node:tls'

export interface Client {
  /** Sends a line, if one is given, and returns the last line of the reply; '' when the connection ended instead. */
  say(line?: string): Promise<string>
  /** Sends the bytes unchanged. */
  write(bytes: string | Buffer): void
  /** Returns the SHA-256 of the server's certificate, as Node prints it. */
  startTls(): Promise<string>
  ended(): boolean
  close(): void
}

/** A mail client that sends what the test says. The connection is open, and the greeting is not read yet. */
export async function openClient(port: number, host = '127.0.0.1', localAddress?: string): Promise<Client> {
  let socket: Socket = connect({ port, host, localAddress })
  let unread = ''
  let over = false
  let wake = () => {}
  const listen = () => {
    socket.on('data', (chunk) => {
      unread += chunk.toString('latin1')
      wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      over = true
      wake()
    })
  }
  listen()
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))

  async function reply(): Promise<string> {
    for (;;) {
      const end = /^\d{3}(?: [^\r\n]*)?\r\n/m.exec(unread)
      if (end) {
        unread = unread.slice(end.index + end[0].length)
        return end[0].trimEnd()
      }
      if (over) return ''
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  return {
    say(line) {
      if (line !== undefined) socket.write(`${line}\r\n`)
      return reply()
    },
    write: (bytes) => void socket.write(bytes),
    async startTls() {
      socket.removeAllListeners()
      const tls = secure({ socket, rejectUnauthorized: false })
      socket = tls
      await new Promise((resolve) => tls.once('secureConnect', resolve))
      listen()
      return tls.getPeerCertificate().fingerprint256
    },
    ended: () => over,
    close: () => void socket.destroy(),
  }
}

/** Sends one mail over one connection. Returns the first reply that refuses, or the reply to the mail. */
export async function deliver(
  port: number,
  to: string,
  mail: string,
  from = '',
  localAddress?: string,
): Promise<string> {
  const client = await openClient(port, '127.0.0.1', localAddress)
  const replies = [await client.say()]
  for (const line of ['EHLO mail.example.net', `MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA']) {
    if (/^[45]|^$/.test(replies.at(-1)!)) break
    replies.push(await client.say(line))
  }
  if (replies.at(-1)!.startsWith('354')) replies.push(await client.say(`${mail.replace(/^\./gm, '..')}\r\n.`))
  client.close()
  return replies.at(-1)!
}

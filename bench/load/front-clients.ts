import { connect, type Socket } from 'node:net'
import { Pool } from 'undici'
import { TEXT } from './sends.ts'

/** A message that was sent, with the time from its first octet to its reply. */
export interface SentMessage {
  ms: number
}

/** Sends one message after the other. */
export interface FrontClient extends AsyncDisposable {
  send(): Promise<SentMessage>
}

let count = 0

const message = () =>
  [
    ...['From: Bench <bench@example.test>', 'To: b@to.test', 'Subject: Your order is on its way'],
    ...[`Message-ID: <${process.pid}-${++count}@example.test>`, ''],
    TEXT,
  ].join('\r\n')

/** Sends by REST as `raw`, each with an idempotency key. */
export function restClient({ port, key }: Door): FrontClient {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return {
    async send() {
      const body = JSON.stringify({ to: 'b@to.test', raw: Buffer.from(message()).toString('base64') })
      const beganMs = performance.now()
      const response = await pool.request({
        ...{ path: '/api/v1/emails/send', method: 'POST', body },
        headers: { ...headers, 'idempotency-key': `${process.pid}-${count}` },
      })
      const text = await response.body.text()
      if (!text.includes('"delivered"')) throw new Error(`Not delivered: ${text}`)
      return { ms: performance.now() - beganMs }
    },
    [Symbol.asyncDispose]: () => pool.close(),
  }
}

/** Sends by SMTP over one connection, with its commands pipelined. */
export const smtpClient = (door: Door) => client(door, 'EHLO', ['b@to.test'])

/** Sends each message to all recipients by LMTP, with its commands pipelined. */
export const lmtpClient = (door: Door, recipients: readonly string[]) => client(door, 'LHLO', recipients)

interface Door {
  port: number
  key: string
}

async function client(
  { port, key }: Door,
  hello: 'EHLO' | 'LHLO',
  recipients: readonly string[],
): Promise<FrontClient> {
  const socket: Socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  let buffer = ''
  let wake = () => {}
  socket.on('data', (data) => {
    buffer += data
    wake()
  })
  socket.on('close', () => wake())
  async function reply(): Promise<string> {
    for (;;) {
      const [whole] = /^(?:\d{3}-[^\r]*\r\n)*\d{3} [^\r]*\r\n/.exec(buffer) ?? []
      if (whole !== undefined) {
        buffer = buffer.slice(whole.length)
        return whole
      }
      if (socket.destroyed) throw new Error(`The connection was closed: ${buffer}`)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  await reply()
  socket.write(`${hello} bench.test\r\n`)
  await reply()
  socket.write(`AUTH PLAIN ${Buffer.from(`\0any\0${key}`).toString('base64')}\r\n`)
  const login = await reply()
  if (!login.startsWith('235')) throw new Error(login)
  return {
    async send() {
      const content = message()
      const beganMs = performance.now()
      const named = recipients.map((recipient) => `RCPT TO:<${recipient}>\r\n`)
      socket.write(['MAIL FROM:<bench@example.test>\r\n', ...named, 'DATA\r\n'].join(''))
      for (let i = 0; i < named.length + 2; i++) await reply()
      socket.write(`${content}.\r\n`)
      for (let i = 0; i < (hello === 'LHLO' ? named.length : 1); i++) {
        const answer = await reply()
        if (!answer.startsWith('250')) throw new Error(answer)
      }
      return { ms: performance.now() - beganMs }
    },
    async [Symbol.asyncDispose]() {
      socket.end()
    },
  }
}

import http2 from 'node:http2'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

// One caller, or strangers from many addresses, who hold a door. A separate process, which ends with its parent.

export interface Attack {
  port: number
  smtpPort: number
  /** A test key of an account that owns nothing. */
  key: string
  kind: keyof typeof ATTACKS
}

const MESSAGE_BYTES = 8 * 2 ** 20
/** Content that once cost many times what plain text costs. */
const FILLERS = ['\r\n', ' ', '=41', '--', 'A\r\n', '.\r\n', '<', '&', '=?utf-8?q?=41?=']

export const ATTACKS = {
  content: ({ port, key }: Attack) => {
    for (let i = 0; i < 4; i++) void forEver(() => postContent(port, key))
  },
  crowd: ({ port, key }: Attack) => {
    for (let i = 0; i < 50; i++) crowdOn(port, key)
  },
  connections: ({ port }: Attack) => holdSilent(port, 11_000, () => ''),
  front: ({ smtpPort }: Attack) => holdSilent(smtpPort, 1_500, (i) => ['', 'EHLO a\r\nAUTH LOGIN\r\n', 'EHLO'][i % 3]!),
  data: ({ smtpPort, key }: Attack) => {
    for (let i = 0; i < 200; i++)
      hold(
        () => openSocket(smtpPort, i),
        (socket) => socket.write(dataOf(key)),
      )
  },
  streams: ({ port, key }: Attack) => {
    for (let i = 0; i < 300; i++) holdStream(port, i, '/grpc.health.v1.Health/Watch')
    for (let i = 0; i < 150; i++) holdStream(port, i, '/verdict.v1.EventService/StreamEvents', key)
  },
}

const CROWD_CALLS = [
  { path: '/api/v1/account' },
  { path: '/api/v1/emails/validate', body: { from: 'a@example.test', to: 'b@to.test', html: '<p>'.repeat(10_000) } },
  { path: '/api/v1/emails/send', body: { from: 1, to: Array(3_000).fill('x') } },
]

/** Sends 60 calls at a time on one connection. */
function crowdOn(port: number, key: string): void {
  const session = http2.connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const send = (i: number) => {
    const { path, body } = CROWD_CALLS[i % CROWD_CALLS.length]!
    const stream = session.request({ ...headers, ':path': path, ':method': body ? 'POST' : 'GET' })
    stream.on('error', () => {}).on('close', () => setTimeout(send, 10, i + 1))
    stream.resume().end(body && JSON.stringify(body))
  }
  for (let i = 0; i < 60; i++) send(i)
}

async function postContent(port: number, key: string): Promise<void> {
  const filler = FILLERS[Math.floor(Math.random() * FILLERS.length)]!
  const raw = Buffer.concat([
    Buffer.from('From: a@example.test\r\nContent-Type: text/calendar; method=REQUEST\r\n'),
    Buffer.from('Content-Transfer-Encoding: quoted-printable\r\n\r\n'),
    Buffer.alloc(MESSAGE_BYTES, filler),
  ])
  const body = JSON.stringify({ to: 'b@to.test', raw: raw.toString('base64') })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/emails/send`, { method: 'POST', headers, body })
  await response.arrayBuffer()
}

function dataOf(key: string): string {
  const login = Buffer.from(`\0any\0${key}`).toString('base64')
  const envelope = 'MAIL FROM:<a@example.test>\r\nRCPT TO:<b@to.test>\r\nDATA\r\n'
  return `EHLO a\r\nAUTH PLAIN ${login}\r\n${envelope}${'x'.repeat(70)}\r\n`.concat(
    `${'x'.repeat(78)}\r\n`.repeat(15_000),
  )
}

function holdSilent(port: number, count: number, textOf: (i: number) => string): void {
  for (let i = 0; i < count; i++)
    hold(
      () => openSocket(port, i),
      (socket) => socket.write(textOf(i)),
    )
}

/** Addresses of 20 networks. */
const addressOf = (i: number) => `127.0.${i % 20}.${2 + (i % 11)}`

const openSocket = (port: number, i: number) => connect({ port, host: '127.0.0.1', localAddress: addressOf(i) })

/** Opens it again when it is closed. */
function hold(open: () => Socket, use: (socket: Socket) => void): void {
  const socket = open()
  socket.on('connect', () => use(socket)).on('error', () => {})
  socket.on('close', () => setTimeout(hold, 100, open, use)).resume()
}

function holdStream(port: number, i: number, path: string, key?: string): void {
  const session = http2.connect(`http://127.0.0.1:${port}`, { createConnection: () => openSocket(port, i) })
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  const stream = session.request(key ? { ...headers, authorization: `Bearer ${key}` } : headers)
  stream.on('error', () => {}).on('close', () => session.destroy())
  stream.resume().end(Buffer.alloc(5))
  session.on('error', () => {}).on('close', () => setTimeout(holdStream, 100, port, i, path, key))
}

async function forEver(attack: () => Promise<void>): Promise<never> {
  for (;;) await attack().catch(() => sleep(100))
}

process.on('disconnect', () => process.exit())
process.on('message', (attack: Attack) => void ATTACKS[attack.kind](attack))

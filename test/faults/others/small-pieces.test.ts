import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { DATA, frame, openFrames, openStream, repeated } from '../../harness/http2-frames.ts'
import { within } from '../../harness/waits.ts'
import { harm, startVictimWorld, type VictimWorld } from './victim.ts'

// A stranger sends few bytes in very many pieces. Limits of bytes do not see that.

const ATTACK_MS = 8_000
const BYTES_PER_SECOND = 2 ** 20
const SIGN_IN = '/api/auth/sign-in/email'
const JSON_TYPE = 'application/json'
/** Pieces that are written at once. */
const COUNT = 6_000

let world: VictimWorld
beforeAll(async () => {
  world = await startVictimWorld()
})

interface Connection {
  write(bytes: Buffer): boolean
  socket: { once(event: string, listener: () => void): unknown; closed: boolean; destroy(): unknown }
}

/** A connection on which the server waits for pieces of a body. */
async function openBody(path: string, key: string | undefined): Promise<Connection> {
  const connection = await openFrames(portOf())
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  connection.write(openStream(1, { ':path': path, 'content-type': JSON_TYPE, ...authorization }))
  return connection
}

async function openChunks(path: string, key: string | undefined): Promise<Connection> {
  const socket = connect(portOf(), '127.0.0.1')
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  const authorization = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: ${JSON_TYPE}\r\n`)
  socket.write('Transfer-Encoding: chunked\r\n\r\n')
  return { write: (bytes) => socket.write(bytes), socket }
}

const portOf = () => Number(new URL(world.api.url).port)

/** Sends pieces at a rate until the attack is over, on a new connection after each end. Returns their number. */
async function flood(opens: () => Promise<Connection>, pieces: Buffer): Promise<number> {
  const startMs = performance.now()
  let sent = 0
  while (performance.now() - startMs < ATTACK_MS) {
    const { write, socket } = await opens()
    const closed = new Promise<void>((resolve) => socket.once('close', resolve))
    while (!socket.closed && performance.now() - startMs < ATTACK_MS) {
      const isTaken = write(pieces)
      sent++
      const aheadMs = ((sent * pieces.length) / BYTES_PER_SECOND) * 1_000 - (performance.now() - startMs)
      // A server that reads no further ends the connection within seconds.
      await within(Math.max(1, isTaken ? aheadMs : 100), closed, undefined)
    }
    socket.destroy()
  }
  return sent * COUNT
}

const chunk = (text: string) => Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`)

test.each([
  ['DATA frames of one byte', openBody, frame(DATA, 0, 1, ' ')],
  [
    'DATA frames of one byte and of 63, in turn',
    openBody,
    Buffer.concat([1, 63].map((n) => frame(DATA, 0, 1, ' '.repeat(n)))),
  ],
  ['chunks of one byte on HTTP/1.1', openChunks, chunk(' ')],
] as const)(
  'bodies in %s, on sign-in and sends, on new connections without end, harm no account',
  async (_, opens, piece) => {
    const pieces = repeated(piece, COUNT)
    const targets: [path: string, key: string | undefined][] = [
      [SIGN_IN, undefined],
      ['/api/v1/emails/send', world.attacker.key],
    ]
    let counts: number[] = []
    const comparison = await world.compare(async () => {
      counts = await Promise.all(targets.map(([path, key]) => flood(() => opens(path, key), pieces)))
    })
    console.log({ counts })
    expect(Math.min(...counts)).toBeGreaterThan(COUNT)
    expect(harm(comparison)).toEqual([])
  },
)

test('requests that follow each other without waiting for responses harm no account', async () => {
  const requests = Buffer.from('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(COUNT))
  let count = 0
  const comparison = await world.compare(async () => {
    count = await flood(async () => {
      const socket = connect(portOf(), '127.0.0.1')
      socket.on('error', () => {}).resume()
      await once(socket, 'connect')
      return { write: (bytes) => socket.write(bytes), socket }
    }, requests)
  })
  console.log({ count })
  expect(count).toBeGreaterThan(COUNT)
  expect(harm(comparison)).toEqual([])
})

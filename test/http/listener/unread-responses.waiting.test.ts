import { once } from 'node:events'
import http2 from 'node:http2'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { fail } from '../../../server/errors.ts'
import type { ListenOptions } from '../../../server/http/listener/listen.ts'
import { outlast, pauseFor } from '../../harness/waits.ts'
import { CALLER, type Gateway, startGateway } from '../gateway.ts'
import { MAIL, open, receive } from '../requests.ts'
import { delivered } from '../resources.ts'

// What waits for its reader is counted by account. The account with the most loses its oldest response over its share.

const MIB = 2 ** 20
const BODY = JSON.stringify(MAIL)

/** Each key is an account, and each response of a send is large. */
const start = (responseBytes: number, listen: Partial<ListenOptions>) =>
  startGateway({
    listen,
    gate: async ({ authorization, keyOptional }) => {
      if (keyOptional && authorization === null) return undefined
      if (!authorization) throw fail('invalid_api_key', 'There is no key.')
      return { ...CALLER, accountId: authorization.slice('Bearer '.length) }
    },
    send: async () => ({ ...delivered(), messageId: 'x'.repeat(responseBytes) }),
  })

/** Who lost responses. */
const losers = ({ lines }: Gateway) =>
  lines.filter(({ msg }) => msg === 'aborted an unread response').map((line) => line.account_id)

const headersOf = (account: string) => ({
  ':method': 'POST',
  ':path': '/api/v1/emails/send',
  authorization: `Bearer ${account}`,
})

function request(session: http2.ClientHttp2Session, account: string): http2.ClientHttp2Stream {
  const stream = session.request(headersOf(account))
  stream.on('error', () => {})
  stream.end(BODY)
  return stream
}

function connect({ url }: Gateway, initialWindowSize = 65_535): http2.ClientHttp2Session {
  return http2.connect(url, { settings: { initialWindowSize } }).on('error', () => {})
}

/** Reads about 64 KiB, then pauses, until the end. */
async function readSlowly(stream: http2.ClientHttp2Stream, pauseMs: number): Promise<number> {
  let bytes = 0
  let pausedAt = 0
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length
    if (bytes - pausedAt < 64 * 1024) continue
    pausedAt = bytes
    await pauseFor(pauseMs)
  }
  return bytes
}

test('HTTP/2: an account that reads nothing keeps its share of the memory, and no other account loses a response', async () => {
  await using gateway = await start(MIB, { maxUnreadBytes: 24 * MIB })
  const [slow, attack, other] = [connect(gateway), connect(gateway, 0), connect(gateway)]
  const slowly = readSlowly(request(slow, 'slow'), 50)
  let most = 0
  const codes: number[] = []
  for (let i = 0; i < 60; i++) {
    const stream = request(attack, 'attacker')
    // Its window is empty, so this reads nothing but the end.
    stream.once('close', () => codes.push(stream.rstCode)).resume()
    await once(stream, 'response')
    most = Math.max(most, gateway.app.inFlight.size)
    if (i % 10 === 0) expect((await buffer(request(other, 'other'))).length).toBeGreaterThan(MIB)
  }
  // 16 is two thirds of 24 MiB; beside them are the two other accounts and one response that ends.
  expect(most).toBeLessThanOrEqual(16 + 3)
  expect(await slowly).toBeGreaterThan(MIB)
  await expect.poll(() => codes.length).toBeGreaterThan(40)
  expect(new Set(codes)).toEqual(new Set([http2.constants.NGHTTP2_CANCEL]))
  expect(new Set(losers(gateway))).toEqual(new Set(['attacker']))
  for (const session of [slow, attack, other]) session.destroy()
})

test('HTTP/1.1: the connection whose response has been unread longest is closed', async () => {
  // Much of each is in the buffers of the system.
  const responseBytes = 16 * MIB
  await using gateway = await start(responseBytes, { maxUnreadBytes: 32 * MIB })
  const head = 'POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer attacker\r\n'
  const sockets: Socket[] = []
  for (let i = 1; i <= 8; i++) {
    const socket = await open(gateway.port)
    sockets.push(socket.pause())
    socket.write(`${head}Content-Length: ${BODY.length}\r\n\r\n${BODY}`)
    await expect.poll(() => gateway.sent.length).toBe(i)
  }
  await expect.poll(() => gateway.connections()).toBeLessThan(5)
  expect(losers(gateway).length).toBe(8 - gateway.connections())
  const newest = sockets.at(-1)!
  expect((await receive(newest.resume(), 20_000, (text) => text.length > responseBytes)).length).toBeGreaterThan(
    responseBytes,
  )
  for (const socket of sockets) socket.destroy()
})

test('a response that is read slowly but steadily is not a stalled one', async () => {
  await using gateway = await start(MIB, { stalledResponseMs: 300 })
  const session = connect(gateway)
  expect(await readSlowly(request(session, 'slow'), 100)).toBeGreaterThan(MIB)
  session.destroy()
})

test('HTTP/2: a connection of which many streams are not read stays open for the others', async () => {
  await using gateway = await start(MIB, { stalledResponseMs: 300 })
  const session = connect(gateway, 0)
  const streams = Array.from({ length: 30 }, () => request(session, 'stalled').resume())
  await Promise.all(streams.map((stream) => once(stream, 'close')))
  await outlast(600)
  expect(session.destroyed).toBe(false)
  session.destroy()
})

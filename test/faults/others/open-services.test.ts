import http2, { type ClientHttp2Session } from 'node:http2'
import { connect } from 'node:net'
import { create, toBinary } from '@bufbuild/protobuf'
import { beforeAll, expect, test } from 'vitest'
import { HealthCheckRequestSchema } from '../../../gen/grpc/health/v1/health_pb.ts'
import { ServerReflectionRequestSchema } from '../../../gen/grpc/reflection/v1/reflection_pb.ts'
import { forgetPeak, usageOf } from '../../harness/usage.ts'
import { letArrive, letRun, pauseFor, within } from '../../harness/waits.ts'
import { harm, startVictimWorld, type VictimWorld } from './victim.ts'

// A stranger attacks the services that need no key: health and reflection.

const ATTACK_MS = 8_000
const CHECK = '/grpc.health.v1.Health/Check'
const WATCH = '/grpc.health.v1.Health/Watch'
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'

let world: VictimWorld
/** The memory of the process before any attack. */
let startedBytes: number
beforeAll(async () => {
  world = await startVictimWorld()
  startedBytes = (await usageOf(world.api.pid)).residentBytes
})

/** The first addresses of the attackers of a test. None has the rate limit of another one's calls. */
const [WATCHERS, FLOODERS, READERS] = [0, 100, 200]

/** A loopback address for each attacker. */
const addressOf = (i: number) => `127.0.${1 + Math.floor(i / 200)}.${1 + (i % 200)}`

function session(i: number): ClientHttp2Session {
  // An HTTP/2 session passes these options on to its TCP connection, although its type does not allow them.
  const options = { localAddress: addressOf(i), maxSessionMemory: 64 } as http2.ClientSessionOptions
  const newSession = http2.connect(world.api.url, options)
  newSession.on('error', () => {})
  return newSession
}

interface Call {
  /** The gRPC status: `0` for success, undefined while the call is open. */
  status?: string
  /** The bytes of the response messages. */
  bytes: number
  /** Resolves when the first response arrives or the call ends. */
  firstResponse: Promise<unknown>
  ended: Promise<unknown>
  hasEnded: boolean
}

function call(on: ClientHttp2Session, path: string, body?: Buffer): Call {
  const stream = on.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' })
  const ended = new Promise((resolve) => stream.once('close', resolve))
  const firstResponse = Promise.race([new Promise((resolve) => stream.once('response', resolve)), ended])
  const newCall: Call = { bytes: 0, firstResponse, ended, hasEnded: false }
  void ended.then(() => {
    newCall.hasEnded = true
  })
  const readStatus = (headers: http2.IncomingHttpHeaders) => {
    if (headers['grpc-status'] !== undefined) newCall.status = String(headers['grpc-status'])
  }
  stream.on('response', readStatus)
  stream.on('trailers', readStatus)
  stream.on('error', () => {})
  stream.on('data', (chunk) => {
    newCall.bytes += chunk.length
  })
  if (body) stream.end(body)
  return newCall
}

function envelopeOf(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

const countOf = (calls: Call[], status: string | undefined) => calls.filter((one) => one.status === status).length

test('calls to health that announce a large body and send none take no memory from large sends', async () => {
  const { port } = new URL(world.api.url)
  const head = `POST ${CHECK} HTTP/1.1\r\nHost: x\r\nContent-Type: application/proto\r\nContent-Length: 15000000\r\n\r\n`
  const sendLarge = async () => {
    const response = await fetch(`${world.api.url}/api/v1/emails/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.attacker.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        from: 'hello@example.test',
        to: 'delivered@simulator.test',
        subject: 'Large',
        text: 'All is well. '.repeat(20_000),
      }),
    })
    return ((await response.json()) as { status: string }).status
  }
  const statuses: string[] = []
  const comparison = await world.compare(async () => {
    const until = performance.now() + ATTACK_MS
    while (performance.now() < until) {
      const sockets = Array.from({ length: 5 }, () => connect(Number(port), '127.0.0.1'))
      for (const socket of sockets)
        socket
          .on('error', () => {})
          .resume()
          .write(head)
      await letArrive(100)
      statuses.push(await sendLarge())
      for (const socket of sockets) socket.destroy()
    }
  })
  expect(new Set(statuses)).toEqual(new Set(['delivered']))
  expect(harm(comparison)).toEqual([])
})

test('4,000 streams that watch health, on 40 connections from 40 addresses, harm no account', async () => {
  const watchers: Call[] = []
  let open = 0
  const comparison = await world.compare(async () => {
    const sessions = Array.from({ length: 40 }, (_, i) => session(WATCHERS + i))
    for (const one of sessions) {
      for (let i = 0; i < 10; i++) {
        const calls = Array.from({ length: 10 }, () => call(one, WATCH, envelopeOf(new Uint8Array())))
        await Promise.all(calls.map(({ firstResponse }) => firstResponse))
        watchers.push(...calls)
      }
    }
    await letRun(ATTACK_MS)
    open = watchers.filter(({ hasEnded }) => !hasEnded).length
    for (const one of sessions) one.destroy()
  })
  // Each address may open 50, and the newest take the places of others. 8 is RESOURCE_EXHAUSTED.
  expect([countOf(watchers, undefined), countOf(watchers, '8')]).toEqual([2_000, 2_000])
  expect(open).toBe(250)
  expect(harm(comparison)).toEqual([])
})

test('floods of requests to reflection get bounded responses and harm no account', async () => {
  const request = create(ServerReflectionRequestSchema, {
    messageRequest: { case: 'fileByFilename', value: 'google/protobuf/descriptor.proto' },
  })
  const flood = Buffer.concat(Array(1_400).fill(envelopeOf(toBinary(ServerReflectionRequestSchema, request))))
  const calls: Call[] = []
  const comparison = await world.compare(async () => {
    const until = performance.now() + ATTACK_MS
    const attack = async (_: unknown, i: number) => {
      const newSession = session(FLOODERS + i)
      for (; performance.now() < until; await pauseFor(50)) {
        const one = call(newSession, REFLECTION, flood)
        calls.push(one)
        await within(until - performance.now(), one.ended, undefined)
      }
      newSession.destroy()
    }
    await Promise.all(Array.from({ length: 20 }, attack))
  })
  // Files of 512 KiB, and the requests, which the responses repeat.
  expect(Math.max(...calls.map(({ bytes }) => bytes))).toBeLessThan(2 ** 20)
  // Each address may make 600 requests a minute, and each response is a file of 14 KB.
  expect(calls.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(20 * 600 * 2 * 15_000)
  expect(harm(comparison)).toEqual([])
})

test('health and reflection do not read 15 MiB of unknown fields', async () => {
  const message = create(HealthCheckRequestSchema)
  // 7.8 million fields of two bytes.
  message.$unknown = [{ no: 15, wireType: 0, data: Buffer.alloc(1) }]
  const one = toBinary(HealthCheckRequestSchema, message)
  const huge = envelopeOf(Buffer.alloc(15 * 2 ** 20 - 100, one))
  const calls: Call[] = []
  await forgetPeak(world.api.pid)
  const comparison = await world.compare(async () => {
    const until = performance.now() + ATTACK_MS
    const attack = async (address: number, path: string) => {
      while (performance.now() < until) {
        const newSession = session(address)
        const one = call(newSession, path, huge)
        await one.ended
        calls.push(one)
        newSession.destroy()
      }
    }
    await Promise.all([attack(READERS, CHECK), attack(READERS + 1, REFLECTION)])
  })
  const after = await usageOf(world.api.pid)
  expect(countOf(calls, '8')).toBeGreaterThan(0)
  expect(countOf(calls, '0')).toBe(0)
  expect(after.peakBytes - startedBytes).toBeLessThan(256 * 2 ** 20)
  expect(harm(comparison)).toEqual([])
})

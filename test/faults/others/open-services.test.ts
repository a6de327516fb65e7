import http2, { type ClientHttp2Session } from 'node:http2'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { create, toBinary } from '@bufbuild/protobuf'
import { afterEach, expect, test } from 'vitest'
import { HealthCheckRequestSchema } from '../../../gen/grpc/health/v1/health_pb.ts'
import { ServerReflectionRequestSchema } from '../../../gen/grpc/reflection/v1/reflection_pb.ts'
import { harm, startVictimWorld, usageOf, type VictimWorld } from './victim.ts'

// A stranger without a key attacks what needs none: health and reflection.

const ATTACK_MS = 8_000
const CHECK = '/grpc.health.v1.Health/Check'
const WATCH = '/grpc.health.v1.Health/Watch'
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'

let world: VictimWorld
afterEach(() => world.stop())

/** Loopback has as many addresses as a stranger could wish for. */
const addressOf = (i: number) => `127.0.${1 + Math.floor(i / 200)}.${1 + (i % 200)}`

function session(i: number): ClientHttp2Session {
  // A session of HTTP/2 passes these on to the connection below it, which its type does not say.
  const options = { localAddress: addressOf(i), maxSessionMemory: 64 } as http2.ClientSessionOptions
  const opened = http2.connect(world.api.url, options)
  opened.on('error', () => {})
  return opened
}

interface Told {
  /** Of gRPC: `0` for a call that went well, undefined while it is open. */
  status?: string
  /** Bytes of its messages. */
  bytes: number
  /** Once anything was heard of it. */
  heard: Promise<unknown>
  ended: Promise<unknown>
}

function call(on: ClientHttp2Session, path: string, body?: Buffer): Told {
  const stream = on.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' })
  const ended = new Promise((resolve) => stream.once('close', resolve))
  const heard = Promise.race([new Promise((resolve) => stream.once('response', resolve)), ended])
  const told: Told = { bytes: 0, heard, ended }
  const hear = (headers: http2.IncomingHttpHeaders) => {
    if (headers['grpc-status'] !== undefined) told.status = String(headers['grpc-status'])
  }
  stream.on('response', hear)
  stream.on('trailers', hear)
  stream.on('error', () => {})
  stream.on('data', (chunk) => {
    told.bytes += chunk.length
  })
  if (body) stream.end(body)
  return told
}

function enveloped(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

const countOf = (calls: Told[], status: string | undefined) => calls.filter((one) => one.status === status).length

test('heads of calls to health, each with a large Content-Length and no body, take no memory from large sends', async () => {
  world = await startVictimWorld()
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
  const compared = await world.compare(async () => {
    const until = performance.now() + ATTACK_MS
    while (performance.now() < until) {
      const sockets = Array.from({ length: 5 }, () => connect(Number(port), '127.0.0.1'))
      for (const socket of sockets)
        socket
          .on('error', () => {})
          .resume()
          .write(head)
      await sleep(100)
      statuses.push(await sendLarge())
      for (const socket of sockets) socket.destroy()
    }
  })
  expect(new Set(statuses)).toEqual(new Set(['delivered']))
  expect(harm(compared)).toEqual([])
})

test('4,000 streams that watch health, on 40 connections from 40 addresses, slow nobody', async () => {
  world = await startVictimWorld()
  const watchers: Told[] = []
  const compared = await world.compare(async () => {
    const sessions = Array.from({ length: 40 }, (_, i) => session(i))
    for (const one of sessions) {
      for (let i = 0; i < 10; i++) {
        const opened = Array.from({ length: 10 }, () => call(one, WATCH, enveloped(new Uint8Array())))
        await Promise.all(opened.map(({ heard }) => heard))
        watchers.push(...opened)
      }
    }
    await sleep(ATTACK_MS)
    for (const one of sessions) one.destroy()
  })
  // 8 is RESOURCE_EXHAUSTED.
  expect([countOf(watchers, undefined), countOf(watchers, '8')]).toEqual([250, 3_750])
  expect(harm(compared)).toEqual([])
})

test('floods of questions to reflection get bounded answers and slow nobody', async () => {
  world = await startVictimWorld()
  const question = create(ServerReflectionRequestSchema, {
    messageRequest: { case: 'fileByFilename', value: 'google/protobuf/descriptor.proto' },
  })
  const flood = Buffer.concat(Array(1_400).fill(enveloped(toBinary(ServerReflectionRequestSchema, question))))
  const asked: Told[] = []
  const compared = await world.compare(async () => {
    const until = performance.now() + ATTACK_MS
    const attack = async (_: unknown, i: number) => {
      const opened = session(i)
      for (; performance.now() < until; await sleep(50)) {
        const one = call(opened, REFLECTION, flood)
        asked.push(one)
        await Promise.race([one.ended, sleep(until - performance.now())])
      }
      opened.destroy()
    }
    await Promise.all(Array.from({ length: 20 }, attack))
  })
  // Files of 512 KiB, and the questions, which are repeated in the answers.
  expect(Math.max(...asked.map(({ bytes }) => bytes))).toBeLessThan(2 ** 20)
  // Each address has 600 questions a minute, each answered with a file of 14 KB.
  expect(asked.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(20 * 600 * 2 * 15_000)
  expect(harm(compared)).toEqual([])
})

test('15 MiB of unknown fields to health and reflection are not read', async () => {
  world = await startVictimWorld()
  const message = create(HealthCheckRequestSchema)
  // 7.8 million fields of two bytes.
  message.$unknown = [{ no: 15, wireType: 0, data: Buffer.alloc(1) }]
  const one = toBinary(HealthCheckRequestSchema, message)
  const huge = enveloped(Buffer.alloc(15 * 2 ** 20 - 100, one))
  const calls: Told[] = []
  const before = await usageOf(world.api.pid)
  const compared = await world.compare(async () => {
    const until = performance.now() + ATTACK_MS
    const attack = async (address: number, path: string) => {
      while (performance.now() < until) {
        const opened = session(address)
        const one = call(opened, path, huge)
        await one.ended
        calls.push(one)
        opened.destroy()
      }
    }
    await Promise.all([attack(0, CHECK), attack(1, REFLECTION)])
  })
  const after = await usageOf(world.api.pid)
  expect(countOf(calls, '8')).toBeGreaterThan(0)
  expect(countOf(calls, '0')).toBe(0)
  expect(after.peakBytes - before.peakBytes).toBeLessThan(256 * 2 ** 20)
  expect(harm(compared)).toEqual([])
})

import { type AddressInfo, createServer } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exchange } from '../../../server/webhooks/post/exchange.ts'
import { farClock } from '../../harness/far-clock.ts'
import { takes } from '../../harness/waits.ts'
import { BODY, ends, newAccountPost, newConnections, newReceiver, startListening, undo } from './posting.ts'

// One POST on one connection: which of its limits ends it.

beforeEach(() => void farClock())
afterEach(undo)

/** Longer than a test may take. */
const NEVER_MS = 600_000
const PATIENT = { slotMs: NEVER_MS, connectMs: NEVER_MS, headMs: NEVER_MS, bodyMs: NEVER_MS, totalMs: NEVER_MS }

test.each([
  ['its connection', 'silent', { outcome: 'tls', code: 'connect_timeout' }],
  ['its head', 'hang', { outcome: 'timeout_head' }],
  ['its body', 'drip_body', { outcome: 'timeout_body' }],
] as const)('the limit of a whole POST also ends %s', async (_, fault, expected) => {
  const receiver = await newReceiver()
  if (fault !== 'silent') receiver.script = { fault, status: 500 }
  const silent = createServer((socket) => void ends.push(() => socket.destroy()))
  await startListening(silent)
  const url = fault === 'silent' ? `https://127.0.0.1:${(silent.address() as AddressInfo).port}/` : receiver.url
  const post = newAccountPost({ limits: { ...PATIENT, totalMs: 400 } })
  expect(await post(url)).toMatchObject(expected)
})

test('a body has its own time, which begins at the end of the head', async () => {
  const server = createServer((socket) => {
    socket.once('data', async () => {
      socket.write('HTTP/1.1 500 Broken\r\nContent-Length: 4\r\n\r\nla')
      await takes(2_500)
      socket.write('te')
    })
  })
  await startListening(server)
  const { port } = server.address() as AddressInfo
  const post = newAccountPost({ limits: { ...PATIENT, headMs: 2_000 } })
  expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({
    outcome: 'not_200',
    excerpt: 'late',
    excerptCut: false,
  })
})

test('a POST whose caller left during the dialling is not made, and one that undici refuses closes its connection', async () => {
  const receiver = await newReceiver()
  const { open } = newConnections()
  const limits = { headMs: NEVER_MS, bodyMs: NEVER_MS, untilMs: performance.now() + NEVER_MS }
  const request = { path: '/', headers: {}, body: BODY }
  const fails = async (headers: Record<string, string>, signal?: AbortSignal) => {
    const connection = await open(receiver.url)
    const error = await exchange(connection, { ...request, headers }, limits, signal).catch((error) => error)
    expect(connection.socket.destroyed).toBe(true)
    return error
  }
  expect(await fails({}, AbortSignal.abort('left'))).toBe('left')
  expect(await fails({ 'X-Broken': 'a\nb' })).toMatchObject({ code: 'UND_ERR_INVALID_ARG' })
  expect(receiver.requests).toEqual([])
})

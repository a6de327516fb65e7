import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { newSecret, signedHeaders } from '../../../server/webhooks/attempt/signature.ts'
import { excerptOf } from '../../../server/webhooks/post/excerpt.ts'
import { HOSTILE, hostile } from '../../harness/hostile.ts'
import { BODY, newAccountPost, newReceiver, startListening, undo } from './posting.ts'

afterEach(undo)

test('a receiver gets the signed headers and exactly the bytes that were signed', async () => {
  const receiver = await newReceiver({ tls: true })
  const post = newAccountPost()
  const secret = newSecret()
  const ids = { eventId: 'evt_01h455vb4pex5vsknk084sn02q', dispatchId: 'dsp_01h455vb4pex5vsknk084sn02r' }
  const timestamp = Math.floor(Date.now() / 1_000)
  const headers = signedHeaders({ ...ids, body: BODY, attempt: 2, timestamp, secret })
  expect(await post(`${receiver.url}/a?b=c`, undefined, headers)).toMatchObject({ outcome: 'acked', statusCode: 200 })
  const [request] = receiver.requests
  expect(request).toMatchObject({ method: 'POST', path: '/hook/a?b=c', body: BODY })
  expect(request!.headers).toMatchObject({
    host: `127.0.0.1:${receiver.port}`,
    'content-type': 'application/json',
    'content-length': String(BODY.length),
    'accept-encoding': 'identity',
    'user-agent': `Verdict/${packageJson.version}`,
    'service-attempt': '2',
  })
  expect(new Webhook(secret).verify(request!.body, request!.headers)).toMatchObject({ status: 'bounced' })
})

test.each([
  [200, 'acked'],
  [201, 'success_but_not_200'],
  [202, 'success_but_not_200'],
  [204, 'success_but_not_200'],
  [206, 'success_but_not_200'],
  [299, 'success_but_not_200'],
  [300, 'not_200'],
  [304, 'not_200'],
  [400, 'not_200'],
  [401, 'not_200'],
  [404, 'not_200'],
  [410, 'not_200'],
  [429, 'not_200'],
  [500, 'not_200'],
  [503, 'not_200'],
  [599, 'not_200'],
  [999, 'not_200'],
])('status %i is %s', async (status, outcome) => {
  const receiver = await newReceiver()
  receiver.script = { status }
  expect(await newAccountPost()(receiver.url)).toMatchObject({ outcome, statusCode: status })
})

test.each([301, 302, 303, 307, 308])('a redirect (%i) is a failure and is not followed', async (status) => {
  const receiver = await newReceiver()
  const elsewhere = await newReceiver()
  receiver.script = { status, headers: { location: elsewhere.url } }
  expect(await newAccountPost()(receiver.url)).toMatchObject({ outcome: 'not_200', statusCode: status })
  expect([receiver.requests.length, elsewhere.connections]).toEqual([1, 0])
})

test('a first POST reports all its phases; a POST on an idle connection reports head and body', async () => {
  const receiver = await newReceiver({ tls: true })
  const url = receiver.url.replace('127.0.0.1', 'receiver.example.test')
  const post = newAccountPost()
  const timed = async () => {
    const startedMs = performance.now()
    const { phases } = await post(url)
    const sum = Object.values(phases).reduce((sum, ms) => sum + ms, 0)
    // Each phase is rounded to a tenth of a millisecond.
    expect(sum).toBeLessThan(performance.now() - startedMs + 0.05 * Object.keys(phases).length)
    return phases
  }
  expect(Object.keys(await timed())).toEqual(['dns', 'connect', 'tls', 'head', 'body'])
  receiver.script = { delayMs: 120 }
  const second = await timed()
  expect(Object.keys(second)).toEqual(['head', 'body'])
  expect(second.head).toBeGreaterThanOrEqual(119)
  receiver.script = { fault: 'garbage' }
  expect(Object.keys(await timed())).toEqual(['head'])
  expect(receiver.connections).toBe(1)
})

test('the response is kept as an excerpt of 1,024 octets, flagged when it was cut', async () => {
  const receiver = await newReceiver()
  const post = newAccountPost()
  receiver.script = { status: 500, body: 'out of order' }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'out of order', excerptCut: false })
  receiver.script = { status: 500, body: 'x'.repeat(1_024) }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'x'.repeat(1_024), excerptCut: false })
  receiver.script = { status: 500, body: 'x'.repeat(1_025) }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'x'.repeat(1_024), excerptCut: true })
  receiver.script = { status: 500, body: `${'x'.repeat(1_023)}é` }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'x'.repeat(1_023), excerptCut: true })
  receiver.script = { status: 500, headers: { 'content-encoding': 'gzip' }, body: '\u001f\u008b' }
  expect(await post(receiver.url)).toMatchObject({ excerpt: '(compressed: gzip)' })
  receiver.script = { status: 500, headers: { 'content-encoding': 'Identity' }, body: 'plain' }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'plain' })
  for (const encoding of [{}, { 'content-encoding': 'identity' }, { 'content-encoding': 'gzip' }]) {
    receiver.script = { status: 500, headers: encoding as Record<string, string> }
    expect(await post(receiver.url)).toMatchObject({ excerpt: undefined, excerptCut: false })
  }
  expect(receiver.connections).toBe(1)
  receiver.script = { fault: 'drip_body', everyMs: 60_000 }
  const impatient = newAccountPost({ limits: { bodyMs: 100 } })
  expect(await impatient(receiver.url)).toMatchObject({ outcome: 'acked', excerpt: undefined, excerptCut: false })
})

test('an excerpt is the same whatever the pieces in which a body comes', async () => {
  let pieces: string[] = []
  const server = createHttpServer((_, response) => {
    for (const piece of pieces) response.write(piece)
    response.end()
  })
  await startListening(server)
  const post = newAccountPost()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const lengths = fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 1_100 })), {
    minLength: 1,
    maxLength: 60,
  })
  const examples: [number[]][] = [[Array(3_000).fill(1)], [[1_024, 1]], [[1_023, 1, 1]], [[1_024]]]
  await fc.assert(
    fc.asyncProperty(lengths, async (lengths) => {
      pieces = lengths.map((length, i) => String.fromCharCode(97 + (i % 26)).repeat(length))
      const body = pieces.join('')
      const excerpt = { excerpt: body.slice(0, 1_024), excerptCut: body.length > 1_024 }
      expect(await post(url)).toMatchObject({ outcome: 'acked', ...excerpt })
    }),
    { numRuns: 30, examples },
  )
})

test('an excerpt can be stored and shown: valid UTF-8 without control or formatting characters, whatever came', () => {
  const excerpt = (octets: Buffer | string) => excerptOf(Buffer.from(octets as string), false)
  expect(excerpt('a\u0000b\u001b[31mc\r\nd\te')).toBe('a\uFFFDb\uFFFD[31mc\nd\te')
  expect(excerpt('\u202eabc\u2028\u0085')).toBe('\uFFFDabc\uFFFD\uFFFD')
  expect(excerpt(Buffer.from([0xc3, 0x28, 0xff]))).toBe('\uFFFD(\uFFFD')
  expect(excerpt('größe 😀')).toBe('größe 😀')
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), hostile), fc.boolean(), (response, isCut) => {
      const text = excerptOf(Buffer.from(response as string), isCut) ?? ''
      expect(text.isWellFormed()).toBe(true)
      expect(text.replace(/[\n\t]/g, '')).not.toMatch(HOSTILE)
    }),
  )
})

test('up to ten interim responses do not count; the final one does', async () => {
  let interim = 10
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(interim))
      socket.end('HTTP/1.1 200 OK\r\n\r\nthanks')
    })
  })
  await startListening(server)
  const { port } = server.address() as AddressInfo
  const post = newAccountPost()
  const outcome = { outcome: 'acked', excerpt: 'thanks', excerptCut: false }
  expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject(outcome)
  interim = 11
  expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ outcome: 'connect' })
})

test('a malformed request is a fault of the service and not of the receiver', async () => {
  const receiver = await newReceiver()
  await expect(newAccountPost()(receiver.url, undefined, { 'X-Broken': 'a\nb' })).rejects.toThrow(
    /invalid X-Broken header/,
  )
})

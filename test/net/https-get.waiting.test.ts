import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createGuard } from '../../net/guard.ts'
import { createHttpsGet } from '../../net/https-get.ts'
import { POLICY_AUTHORITY, POLICY_HOST_CERTIFICATE } from '../harness/certificates.ts'
import { HOSTILE, hostile } from '../harness/hostile.ts'
import { type Receiver, type ScriptedResponse, startReceiver } from '../harness/receiver.ts'

const HOST = 'mta-sts.example.test'
const PATH = '/.well-known/mta-sts.txt'

beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), POLICY_AUTHORITY]))

const receivers: Receiver[] = []
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()))
})

async function serving(
  answer: ScriptedResponse,
  tls: Parameters<typeof startReceiver>[0] = { tls: POLICY_HOST_CERTIFICATE },
) {
  const receiver = await startReceiver(tls)
  receivers.push(receiver)
  receiver.script = { ...answer, headers: { 'content-type': 'text/plain', ...answer.headers } }
  return receiver
}

function get(
  { port }: { port: number },
  { host = HOST, timeMs = 2_000, addresses = ['127.0.0.1'], open = '127.0.0.1/32' } = {},
) {
  const mayDial = createGuard({ allowSubnets: [open] })
  const httpsGet = createHttpsGet({ lookup: async () => addresses, mayDial, port })
  return httpsGet(host, PATH, AbortSignal.timeout(timeMs))
}

test('a short text is returned unchanged, and the request tells only its host and path', async () => {
  const receiver = await serving({ body: 'version: STSv1\r\nü\r\n' })
  expect(await get(receiver)).toEqual({ kind: 'got', text: 'version: STSv1\r\nü\r\n' })
  const [{ method, path, headers }] = receiver.requests as [Receiver['requests'][0]]
  expect({ method, path, headers }).toEqual({
    method: 'GET',
    path: PATH,
    headers: {
      host: `${HOST}:${receiver.port}`,
      accept: 'text/plain',
      'accept-encoding': 'identity',
      connection: 'close',
    },
  })
})

test('a text has no harmful characters, whatever octets its host sends', async () => {
  const receiver = await serving({})
  await fc.assert(
    fc.asyncProperty(hostile, async (words) => {
      receiver.script = { body: Buffer.from(`mx: ${words}`), headers: { 'content-type': 'text/plain' } }
      const { kind, text } = (await get(receiver)) as { kind: string; text: string }
      expect(kind).toBe('got')
      expect(text.replace(/[\r\n\t]/g, '')).not.toMatch(HOSTILE)
    }),
    { numRuns: 20, examples: [['\0\x1b[31m\u202e']] },
  )
})

test.each<[string, ScriptedResponse]>([
  ['text/plain;charset=utf-8', { headers: { 'content-type': 'text/plain;charset=utf-8' } }],
  ['Text/Plain ; x=y', { headers: { 'content-type': 'Text/Plain ; x=y' } }],
  ['an encoding that is none', { headers: { 'content-encoding': 'identity' } }],
  ['64 KiB', { body: 'x'.repeat(65_536) }],
  ['nothing', { body: '' }],
])('accepted: %s', async (_, answer) => {
  expect(await get(await serving(answer))).toMatchObject({ kind: 'got' })
})

test.each<[string, ScriptedResponse, string]>([
  ['a redirect, which is not followed', { status: 301, headers: { location: '/' } }, 'status 301'],
  ['a status that is no text', { status: 404 }, 'status 404'],
  ['204', { status: 204 }, 'status 204'],
  ['a page', { headers: { 'content-type': 'text/html' } }, 'not text/plain'],
  ['a type that only begins like it', { headers: { 'content-type': 'text/plainer' } }, 'not text/plain'],
  ['an encoding', { headers: { 'content-encoding': 'gzip' } }, 'not asked for'],
  ['an octet over 64 KiB', { body: 'x'.repeat(65_537) }, 'more than 65536 octets'],
  ['a body without end', { fault: 'endless_body' }, 'more than 65536 octets'],
  ['a body that is too short', { fault: 'short_body', body: 'x' }, 'broke off'],
  ['a close', { fault: 'close' }, 'broke off'],
  ['a reset', { fault: 'reset' }, 'broke off'],
  ['garbage', { fault: 'garbage' }, 'broke off'],
  ['a head that is too long', { fault: 'huge_head' }, 'broke off'],
  ['silence', { fault: 'hang' }, 'in time'],
  ['a head that drips', { fault: 'drip_head' }, 'in time'],
  ['a body that drips', { fault: 'drip_body' }, 'in time'],
  ['interim answers without end', { fault: 'endless_interim' }, 'broke off'],
])('not accepted: %s', async (_, answer, cause) => {
  const receiver = await serving(answer)
  const timeMs = cause === 'in time' ? 1_000 : 20_000
  expect(await get(receiver, { timeMs })).toEqual({ kind: 'failed', cause: expect.stringContaining(cause) })
  expect(receiver.connections).toBe(1)
})

test('a certificate that names another host, and an untrusted one, make the request fail', async () => {
  const receiver = await serving({ body: 'x' })
  const stranger = await serving({ body: 'x' }, { tls: true })
  const failed = { kind: 'failed', cause: expect.stringContaining('certificate') }
  expect(await get(receiver, { host: 'mta-sts.other.test' })).toEqual(failed)
  expect(await get(stranger, { host: 'receiver.example.test' })).toEqual(failed)
  expect(await get(await serving({ body: 'x' }, { tls: 'broken' }))).toEqual(failed)
  expect(receivers.flatMap(({ requests }) => requests)).toEqual([])
})

test('no address is dialled when one of them is private', async () => {
  const receiver = await serving({ body: 'x' })
  const addresses = ['127.0.0.1', '127.0.0.2']
  expect(await get(receiver, { addresses })).toEqual({
    kind: 'failed',
    cause: expect.stringContaining('may not be dialled'),
  })
  expect(await get(receiver, { open: '10.0.0.0/8' })).toMatchObject({ kind: 'failed' })
  expect(receiver.connections).toBe(0)
})

test('a host without an address, and a closed port, make the request fail', async () => {
  const receiver = await serving({})
  await receiver.close()
  expect(await get(receiver, { addresses: [] })).toEqual({ kind: 'failed', cause: `${HOST} has no address` })
  expect(await get(receiver)).toEqual({ kind: 'failed', cause: `${HOST} could not be reached` })
})

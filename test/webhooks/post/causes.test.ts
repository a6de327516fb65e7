import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { shownEnd } from '../../../server/services/attempt-outcomes.ts'
import { CAUSES, causeOf } from '../../../server/webhooks/post/causes.ts'
import { CERTIFICATE, EXPIRED_CERTIFICATE, RECEIVER_CERTIFICATE } from '../../harness/certificates.ts'
import { newAccountPost, newReceiver, startListening, undo } from './posting.ts'

// Why a POST got no acknowledgement, against peers that fail in each way.

afterEach(undo)

/** Starts a TCP server. Returns its port. */
async function peer(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onSocket(socket)
  })
  await startListening(server)
  return (server.address() as AddressInfo).port
}

async function tlsPeer(options: TlsOptions): Promise<number> {
  const server = createTlsServer({ ...RECEIVER_CERTIFICATE, ...options }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  })
  server.on('tlsClientError', () => {})
  await startListening(server)
  return (server.address() as AddressInfo).port
}

const responding = (response: string) => peer((socket) => void socket.once('data', () => socket.end(response)))

async function detailOf(url: string, options: Parameters<typeof newAccountPost>[0] = {}) {
  const { outcome, ...end } = await newAccountPost(options)(url)
  return [outcome, shownEnd({ outcome, ...end }).detail]
}
const plain = async (port: Promise<number>) => detailOf(`http://127.0.0.1:${await port}/`)
const secure = async (port: Promise<number>, options = {}) => detailOf(`https://127.0.0.1:${await port}/`, options)

test('a head over 16 KiB is named', async () => {
  expect(await plain(responding(`HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(17_000)}\r\n\r\n`))).toEqual([
    'connect',
    'The head of the response is larger than 16 KiB.',
  ])
})

test.each([
  ['a greeting of SMTP', '220 mail.example ESMTP\r\n'],
  ['a page without a head', '<html>hello</html>'],
  ['a version that is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['octets of TLS after others', 'SSH-\u0016\u0003\u0001\r\n'],
])('%s is not HTTP', async (_, response) => {
  const [outcome, detail] = await plain(responding(response))
  expect(outcome).toBe('connect')
  expect(detail).toMatch(/^The response is not valid HTTP\/1\.1\./)
})

test('an alert of TLS in response to http is named', async () => {
  const alert = Buffer.from([21, 3, 1, 0, 2, 2, 70]).toString('latin1')
  expect(await plain(responding(alert))).toEqual([
    'connect',
    'The port speaks TLS, and the URL begins with http://. Use https://.',
  ])
})

test('https to a port that speaks plain HTTP is named', async () => {
  const [outcome, detail] = await secure(responding('HTTP/1.1 400 Bad Request\r\n\r\n'))
  expect(outcome).toBe('tls')
  expect(detail).toMatch(/^The port does not speak TLS: .* \(ERR_SSL_\w+\)$/)
})

test('a certificate of a private authority is named', async () => {
  const [outcome, detail] = await secure(tlsPeer({}), { ca: undefined })
  expect(outcome).toBe('tls')
  expect(detail).toMatch(/an authority that is not a public one|issuer of the certificate is not known/)
})

test('an expired certificate is named, and one for another host', async () => {
  expect((await secure(tlsPeer(EXPIRED_CERTIFICATE)))[0]).toBe('tls')
  expect((await secure(tlsPeer(CERTIFICATE)))[0]).toBe('tls')
})

test('a client certificate that is asked for is named with TLS 1.3; with TLS 1.2 the refusal is named and no cause claimed', async () => {
  const asking = { requestCert: true, rejectUnauthorized: true } as const
  expect(await secure(tlsPeer({ ...asking, minVersion: 'TLSv1.3' }))).toEqual([
    'tls',
    'The endpoint asks for a client certificate. The service has none. (ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED)',
  ])
  const [outcome, detail] = await secure(tlsPeer({ ...asking, maxVersion: 'TLSv1.2' }))
  expect(outcome).toBe('tls')
  expect(detail).toMatch(/^The endpoint refused the TLS handshake\. Its log says why/)
})

test('no version of TLS in common is named', async () => {
  const options = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  const [outcome, detail] = await secure(tlsPeer(options))
  expect(outcome).toBe('tls')
  expect(detail).toMatch(/no version of TLS in common|refused the TLS handshake/)
})

test('a connection that is closed without a response says so; one that breaks within the head claims no more', async () => {
  expect(await plain(responding(''))).toEqual(['connect', 'The endpoint closed the connection without a response.'])
  expect(await plain(responding('HTTP/1.1 200 OK\r\nX-Half'))).toEqual([
    'connect',
    'The connection broke before the response.',
  ])
})

test.each([
  'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nab',
  'HTTP/1.1 200 OK\r\ncontent-length: 1, 2\r\n\r\nab',
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n',
])('a response whose length is given twice is named as that: %j', async (response) => {
  expect(await plain(responding(response))).toEqual(['connect', expect.stringContaining('more than one length')])
})

test('no connection in time says how long was waited', async () => {
  const silent = peer((socket) => void socket.resume())
  const limits = { connectMs: 300 }
  expect(await secure(silent, { limits })).toEqual([
    'tls',
    'No connection was made within 3 s, for the look-up, TCP and TLS together.',
  ])
})

test('a redirect names its Location, cleaned and cut', async () => {
  const receiver = await newReceiver()
  receiver.script = { status: 301, headers: { location: `https://www.example.com/${'a'.repeat(600)}` } }
  const { location, ...end } = await newAccountPost()(receiver.url)
  expect(location).toHaveLength(500)
  expect(shownEnd({ ...end, location }).detail).toMatch(/^The endpoint responded with 301 and redirects to https:/)
  receiver.script = { status: 302, headers: { location: '/login\u009b' } }
  expect((await newAccountPost()(receiver.url)).location).toBe('/login\uFFFD')
  for (const [status, location] of [[200], [299], [300, '/elsewhere'], [399, '/elsewhere'], [400]] as const) {
    receiver.script = { status, headers: { location: '/elsewhere' } }
    expect([status, (await newAccountPost()(receiver.url)).location]).toEqual([status, location])
  }
})

test('each cause says in sentences what is wrong, and in a few words of its own', () => {
  const causes = new Set(Object.keys(CAUSES).map((code) => causeOf(code)!))
  for (const { sentence, short } of causes) {
    expect(sentence).toMatch(/^[A-Z].{20,}\.$/)
    expect(short).toMatch(/^\w.{5,40}[^.]$/)
  }
  for (const words of ['sentence', 'short'] as const)
    expect(new Set([...causes].map((cause) => cause[words])).size).toBe(causes.size)
})

test('an error without words claims nothing, and says nothing of our network', () => {
  for (const code of ['EHOSTUNREACH', 'ENETUNREACH', 'EMFILE', 'constructor', undefined]) {
    expect(shownEnd({ outcome: 'connect', code, phases: { connect: 1 } }).detail).toBe('No connection was made.')
    expect(shownEnd({ outcome: 'tls', code, phases: { tls: 1 } }).detail).toBe('TLS failed.')
  }
})

import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { NativeConnection } from '@temporalio/worker'
import { afterAll, expect, test } from 'vitest'
import type { TemporalConfig } from '../../server/config/config.ts'
import { connectionOptions, lazyConnection } from '../../workflows/connection.ts'
import { AUTHORITY, CERTIFICATE, WEAK_CERTIFICATE } from '../harness/certificates.ts'
import { startTemporal, type TestTemporal } from '../harness/temporal.ts'
import { quiet, until } from './world.ts'

// Temporal as in production: behind TLS that requires a client certificate.

let temporal: TestTemporal
/** The server name and the client certificate of each connection. */
const certificates: string[] = []
const server = createServer({
  ...CERTIFICATE,
  ca: AUTHORITY,
  requestCert: true,
  rejectUnauthorized: true,
  ALPNProtocols: ['h2'],
})
quiet()
temporal = await startTemporal()
server.on('secureConnection', (socket: TLSSocket) => {
  certificates.push(`${socket.servername} ${socket.getPeerCertificate().subject.CN}`)
  const behind = connect(temporal.port, '127.0.0.1')
  socket.pipe(behind).pipe(socket)
  for (const end of [socket, behind]) end.on('error', () => {})
})
server.on('tlsClientError', () => {})
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
const config = {
  address: `127.0.0.1:${(server.address() as { port: number }).port}`,
  namespace: 'default',
  apiKey: 'a-key',
  tls: { ca: AUTHORITY, client: CERTIFICATE, serverName: 'mx1.example.test' },
}
afterAll(async () => {
  server.close()
  await temporal?.stop()
})

async function responds(temporal: TemporalConfig): Promise<boolean> {
  const connection = lazyConnection(temporal)
  const response = connection.withDeadline(Date.now() + 3_000, () => connection.workflowService.getSystemInfo({}))
  return response
    .then(
      () => true,
      () => false,
    )
    .finally(() => connection.close())
}

test('calls reach a Temporal behind TLS, trust only its authority and present the client certificate', async () => {
  expect(await responds(config)).toBe(true)
  expect(certificates.at(-1)).toBe('mx1.example.test mx1.example.test')
})

test('workers do the same', async () => {
  const before = certificates.length
  const connection = await NativeConnection.connect(connectionOptions(config))
  expect(certificates.length).toBeGreaterThan(before)
  await connection.close()
})

test('a connection to a Temporal with the wrong certificate is refused', async () => {
  const before = certificates.length
  expect(await responds({ ...config, tls: { ...config.tls!, serverName: 'temporal.example.test' } })).toBe(false)
  expect(await responds({ ...config, tls: { ...config.tls!, ca: WEAK_CERTIFICATE.cert } })).toBe(false)
  expect(await responds({ ...config, tls: { ...config.tls!, ca: undefined } })).toBe(false)
  expect(certificates.length).toBe(before)
})

test('every call carries the API key', async () => {
  const keys: unknown[] = []
  const stranger = createSecureServer(CERTIFICATE).on('stream', (stream: ServerHttp2Stream, headers) => {
    keys.push(headers.authorization)
    const unauthenticated = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '16' }
    stream.respond(unauthenticated, { endStream: true })
  })
  await new Promise<void>((listening) => stranger.listen(0, '127.0.0.1', listening))
  const address = `127.0.0.1:${(stranger.address() as { port: number }).port}`
  expect(await responds({ ...config, address })).toBe(false)
  await expect(NativeConnection.connect(connectionOptions({ ...config, address }))).rejects.toThrow()
  stranger.close()
  expect(new Set(keys)).toEqual(new Set(['Bearer a-key']))
  expect(keys.length).toBeGreaterThan(1)
})

test('a connection whose first call found no server works once there is one', async () => {
  const { port } = temporal
  await temporal.stop()
  const plain = { ...config, address: `127.0.0.1:${port}`, tls: undefined, apiKey: undefined }
  const connection = lazyConnection(plain)
  const call = () => connection.withDeadline(Date.now() + 5_000, () => connection.workflowService.getSystemInfo({}))
  await expect(call()).rejects.toThrow()
  temporal = await startTemporal({ port })
  // It looks for the server every five seconds at the latest, and a call may take as long. By default the pauses grow
  // to two minutes.
  await until(
    () =>
      call().then(
        () => true,
        () => false,
      ),
    30_000,
  )
  await connection.close()
})

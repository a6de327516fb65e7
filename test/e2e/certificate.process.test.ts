import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import { expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { CERTIFICATE, RECEIVER_CERTIFICATE } from '../harness/certificates.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { startInstance } from './instance.ts'

// The certificate of the API's port and of the bounce port, and that of the SMTP front, are renewed while the process
// runs.

const FOLDER = temporaryFolder()
const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(FOLDER, 'tls.crt'), join(FOLDER, 'tls.key')]
const FRONT = { certFile: join(FOLDER, 'front.crt'), keyFile: join(FOLDER, 'front.key') }
const HEALTHZ = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'

store(CERTIFICATE)
store(RECEIVER_CERTIFICATE, FRONT)
const [bouncePort, frontPort, frontTlsPort] = [await freePort(), await freePort(), await freePort()]
const instance = await startInstance({
  ...{ TLS_CERT_FILE, TLS_KEY_FILE, BOUNCE_PORT: String(bouncePort), LOG_LEVEL: 'info' },
  ...{ SMTP_FRONT_PORT: String(frontPort), SMTP_FRONT_TLS_PORT: String(frontTlsPort) },
  ...{ SMTP_FRONT_CERT_FILE: FRONT.certFile, SMTP_FRONT_KEY_FILE: FRONT.keyFile },
})

function store(
  { cert, key }: { cert: string; key: string },
  { certFile, keyFile } = { certFile: TLS_CERT_FILE, keyFile: TLS_KEY_FILE },
): void {
  writeFileSync(`${certFile}.new`, cert)
  writeFileSync(`${keyFile}.new`, key)
  renameSync(`${certFile}.new`, certFile)
  renameSync(`${keyFile}.new`, keyFile)
}

const hangUp = () => process.kill(instance.api.pid, 'SIGHUP')
const port = () => Number(new URL(instance.api.url).port)

async function secure(options: tls.ConnectionOptions): Promise<tls.TLSSocket> {
  const socket = tls.connect({ rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}

async function shown(): Promise<string> {
  const socket = await secure({ port: port(), host: '127.0.0.1' })
  return shownBy(socket)
}

const shownByBouncePort = () => shownAfterStartTls(bouncePort)
const shownByFront = () => shownAfterStartTls(frontPort)
/** Where TLS begins with the connection. */
const shownByFrontTls = async () => shownBy(await secure({ port: frontTlsPort, host: '127.0.0.1' }))

async function shownAfterStartTls(port: number): Promise<string> {
  const plain = connectPlain(port, '127.0.0.1')
  for (const line of ['EHLO client.example\r\n', 'STARTTLS\r\n', '']) {
    await once(plain, 'data')
    if (line) plain.write(line)
  }
  const socket = await secure({ socket: plain })
  return shownBy(socket)
}

function shownBy(socket: tls.TLSSocket): string {
  const certificate = socket.getPeerX509Certificate()!.toString()
  socket.destroy()
  return certificate
}

test('SIGHUP renews the certificate of both ports, and an open connection is served on', async () => {
  const kept = await secure({ port: port(), host: '127.0.0.1' })
  const response = text(kept)
  expect([await shown(), await shownByBouncePort()]).toEqual([CERTIFICATE.cert, CERTIFICATE.cert])
  store(RECEIVER_CERTIFICATE)
  hangUp()
  await expect.poll(shown).toBe(RECEIVER_CERTIFICATE.cert)
  expect(await shownByBouncePort()).toBe(RECEIVER_CERTIFICATE.cert)
  kept.end(`${HEALTHZ}Connection: close\r\n\r\n`)
  expect(await response).toMatch(/^HTTP\/1\.1 200 /)
  expect(instance.api.stdout()).toContain('the certificate was renewed')
})

test('SIGHUP renews the own certificate of both ports of the SMTP front, and the port keeps its own', async () => {
  const before = await shown()
  expect([await shownByFront(), await shownByFrontTls()]).toEqual(Array(2).fill(RECEIVER_CERTIFICATE.cert))
  store(CERTIFICATE, FRONT)
  hangUp()
  await expect.poll(shownByFront).toBe(CERTIFICATE.cert)
  expect(await shownByFrontTls()).toBe(CERTIFICATE.cert)
  expect(await shown()).toBe(before)
})

test('a pair that does not fit is told once, and the old certificate stays', async () => {
  store({ cert: CERTIFICATE.cert, key: RECEIVER_CERTIFICATE.key })
  for (const _ of [1, 2, 3]) {
    hangUp()
    expect(await shown()).toBe(RECEIVER_CERTIFICATE.cert)
  }
  const told = () => instance.api.stdout().match(/TLS_KEY_FILE must name the key of the certificate/g)
  await expect.poll(told).toHaveLength(1)
})

test('files that change are noticed without a signal', { timeout: 30_000 }, async () => {
  store(CERTIFICATE)
  await expect.poll(shown, { timeout: 20_000, interval: 500 }).toBe(CERTIFICATE.cert)
})

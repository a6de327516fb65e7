import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { AUTHENTIC_DATA } from 'dns-packet'
import { expect, test } from 'vitest'
import { certificateFinding } from '../../../cli/doctor/certificate.ts'
import { worstOf } from '../../../cli/doctor/check.ts'
import { clockFinding, versionFinding } from '../../../cli/doctor/database.ts'
import { type CheckResult, stateOf } from '../../../cli/doctor/examine.ts'
import { reverseName } from '../../../cli/doctor/internet.ts'
import { spaceFinding } from '../../../cli/doctor/machine.ts'
import { inColour, reportText } from '../../../cli/doctor/report.ts'
import { CERTIFICATE, EXPIRED } from '../../harness/certificates.ts'
import { a, aaaa, type DnsAct, mx, startDns } from '../../harness/dns.ts'
import { listenUntilEnd, temporaryFolder, untilEnd } from '../../harness/until-end.ts'
import { diagnose, PRODUCTION } from './patients.ts'

// Faults of the configuration, of the machine and of what lies around it. Each one is real.

const folder = temporaryFolder()
const dns = untilEnd(await startDns())
const production: Record<string, string> = {
  ...PRODUCTION,
  DNS_SERVERS: dns.address,
  SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
}

test('an invalid variable fails by its own check, and skips only the checks that read it', async () => {
  const env = { PORT: 'http', DATABASE_URL: 'mysql://db' }
  expect(await diagnose('variables', env)).toEqual({
    state: 'failed',
    seen: 'PORT must be a whole number from 0 to 65535; DATABASE_URL must be a postgres:// URL',
    wayOut: expect.stringContaining('PORT=8080, DATABASE_URL=postgres://'),
  })
  expect(await diagnose('database', env)).toEqual({ state: 'skipped', seen: 'DATABASE_URL is missing or invalid' })
  expect(await diagnose('source_addresses', env)).toMatchObject({ state: 'ok' })
})

test('a missing database is named together with npm start', async () => {
  expect(await diagnose('variables', { DATABASE_URL: '' })).toMatchObject({
    state: 'failed',
    seen: 'DATABASE_URL must be set',
    wayOut: expect.stringContaining('npm start'),
  })
})

test('a variable that looks misspelt is a warning, beside an invalid one too', async () => {
  expect(await diagnose('names', { BOUNCE_PROT: '25', PORT: 'http' })).toMatchObject({
    state: 'warning',
    seen: 'BOUNCE_PROT is no variable of this service. Was BOUNCE_PORT meant?',
  })
})

test('a PUBLIC_URL without https fails in production only', async () => {
  const PUBLIC_URL = 'http://api.example.test'
  expect(await diagnose('public_url', { ...production, PUBLIC_URL })).toMatchObject({ state: 'failed' })
  expect(await diagnose('public_url', { PUBLIC_URL })).toMatchObject({ state: 'ok' })
})

test('an expired certificate fails, one of another host too, and one that expires within 30 days is a warning', async () => {
  const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  const install = ({ cert, key }: { cert: string; key: string }) => {
    writeFileSync(TLS_CERT_FILE, cert)
    writeFileSync(TLS_KEY_FILE, key)
  }
  const files = { TLS_CERT_FILE, TLS_KEY_FILE, PUBLIC_URL: 'https://api.example.test' }
  install(EXPIRED)
  expect(await diagnose('certificate', files)).toMatchObject({
    state: 'failed',
    seen: 'it expired on 2026-01-01: callers cannot connect',
  })
  install(CERTIFICATE)
  expect(await diagnose('certificate', files)).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/not for api\.example\.test.* but for DNS:mx1\.example\.test/),
  })
  expect(await diagnose('certificate', { ...files, PUBLIC_URL: 'https://mx1.example.test' })).toMatchObject({
    state: 'ok',
  })
  install(EXPIRED)
  const front = { SMTP_FRONT_CERT_FILE: TLS_CERT_FILE, SMTP_FRONT_KEY_FILE: TLS_KEY_FILE }
  expect(await diagnose('certificate', front)).toMatchObject({
    state: 'failed',
    seen: 'SMTP_FRONT_CERT_FILE: it expired on 2026-01-01: callers cannot connect',
  })
  const expired = new X509Certificate(EXPIRED.cert)
  const on = (day: string) => certificateFinding(expired, 'api.example.test', Date.parse(day))
  expect(on('2025-12-20')).toMatchObject({ state: 'warning', seen: 'it expires in 12 days, on 2026-01-01' })
  expect(on('2025-11-01')).toMatchObject({ state: 'ok' })
  expect(on('2024-11-01')).toMatchObject({ state: 'failed' })
})

test('the certificate that a proxy serves at PUBLIC_URL is examined, too', async () => {
  const server = createTlsServer(EXPIRED)
  const PUBLIC_URL = `https://127.0.0.1:${await listenUntilEnd(server)}`
  expect(await diagnose('certificate', { PUBLIC_URL })).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('expired on 2026-01-01'),
  })
  server.close()
  await once(server, 'close')
  expect(await diagnose('certificate', { PUBLIC_URL })).toMatchObject({
    state: 'skipped',
    seen: expect.stringMatching(/^could not be tried: .*ECONNREFUSED/),
  })
})

test('a service that is not ready fails with its faulty checks, and so does a proxy without an API behind it', async () => {
  let [status, body] = [200, {}]
  const proxy = createHttpServer((_, response) =>
    response.writeHead(status, { connection: 'close' }).end(JSON.stringify(body)),
  )
  const PUBLIC_URL = `http://127.0.0.1:${await listenUntilEnd(proxy)}`
  expect(await diagnose('readyz', { PUBLIC_URL })).toEqual({ state: 'ok', seen: `${PUBLIC_URL}/readyz says ready` })
  body = { checks: { database: 'ok', mail: 'lacking connection' } }
  expect(await diagnose('readyz', { PUBLIC_URL })).toMatchObject({
    state: 'warning',
    seen: expect.stringMatching(/no mail leaves: .* lacking connection$/),
  })
  status = 503
  body = { checks: { database: 'read_only', migrations: 'unknown', temporal: 'ok', worker: 'polling', draining: 'no' } }
  expect(await diagnose('readyz', { PUBLIC_URL })).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/not ready: database: read_only, migrations: unknown$/),
  })
  status = 502
  expect(await diagnose('readyz', { PUBLIC_URL })).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('the proxy reaches no API process'),
  })
  proxy.close()
  proxy.closeAllConnections()
  await once(proxy, 'close')
  expect(await diagnose('readyz', { PUBLIC_URL })).toMatchObject({
    state: 'warning',
    seen: expect.stringContaining('does not answer this machine (ECONNREFUSED)'),
  })
  expect(await diagnose('readyz', {})).toMatchObject({ state: 'skipped' })
})

test('a source address that the machine does not have fails', async () => {
  const SMTP_SOURCE_ADDRESSES = '127.0.0.1,192.0.2.25'
  expect(await diagnose('source_addresses', { SMTP_SOURCE_ADDRESSES })).toMatchObject({
    state: 'failed',
    seen: 'SMTP_SOURCE_ADDRESSES names 192.0.2.25, which this machine does not have: the API does not start',
  })
})

test('a DATA_DIR that others can write to fails, and so do secrets in it that others can read', async () => {
  const DATA_DIR = mkdtempSync(join(folder, 'data-'))
  writeFileSync(join(DATA_DIR, 'encryption.keys'), 'k1:...', { mode: 0o600 })
  chmodSync(DATA_DIR, 0o777)
  expect(await diagnose('data_dir', { DATA_DIR })).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/other users can write to .* \(mode 0777\)/),
    wayOut: expect.stringContaining('chmod go-w'),
  })
  chmodSync(DATA_DIR, 0o711)
  expect(await diagnose('data_dir', { DATA_DIR })).toMatchObject({ state: 'ok' })
  chmodSync(join(DATA_DIR, 'encryption.keys'), 0o644)
  expect(await diagnose('data_dir', { DATA_DIR })).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/read the secrets in .*encryption\.keys \(mode 0644\)/),
  })
  expect(await diagnose('data_dir', { DATA_DIR: join(folder, 'absent') })).toMatchObject({ state: 'skipped' })
})

test('little space on the disk is a warning, and hardly any fails', async () => {
  expect(await diagnose('disk_space', { DATA_DIR: join(folder, 'absent/too') })).toHaveProperty('seen')
  expect(spaceFinding(50_000_000, 1e12)).toMatchObject({ state: 'failed', seen: '50 MB of 1000.0 GB are free' })
  expect(spaceFinding(1_500_000_000, 1e12)).toMatchObject({ state: 'warning' })
  expect(spaceFinding(5_000_000_000, 1e12)).toMatchObject({ state: 'ok' })
})

test('with DNSSEC=trust a resolver that does not validate fails, and so does one that does not answer', async () => {
  const env = { ...production, DNSSEC: 'trust' }
  const servers: DnsAct = [{ type: 'NS', name: 'org', ttl: 60, data: 'a0.org.example' }]
  dns.zone['NS org'] = servers
  expect(await diagnose('dnssec', env)).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/^127\.0\.0\.1:\d+ does not validate: no TLSA record is used$/),
  })
  dns.zone['NS org'] = {
    forge: (reply) => [{ ...reply, flags: (reply.flags ?? 0) | AUTHENTIC_DATA, answers: servers }],
  }
  expect(await diagnose('dnssec', env)).toMatchObject({ state: 'ok', seen: expect.stringMatching(/ validates$/) })
  dns.zone['NS org'] = 'servfail'
  expect(await diagnose('dnssec', env)).toMatchObject({ state: 'failed', seen: expect.stringContaining('SERVFAIL') })
  expect(await diagnose('dnssec', production)).toMatchObject({ state: 'skipped' })
  delete dns.zone['NS org']
})

test('a resolver that answers for names that do not exist fails', async () => {
  expect(await diagnose('resolver', production)).toMatchObject({ state: 'ok' })
  dns.zone['*'] = { forge: (reply, query) => [{ ...reply, answers: [a(query.questions![0]!.name, '203.0.113.9')] }] }
  expect(await diagnose('resolver', production)).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('answers 203.0.113.9 for a name that does not exist'),
  })
  dns.zone['*'] = 'servfail'
  expect(await diagnose('resolver', production)).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('does not answer (SERVFAIL): no mail leaves'),
  })
  delete dns.zone['*']
})

test('a public address without a PTR record fails, and so does one whose name does not lead back', async () => {
  const env = { ...production, SMTP_PUBLIC_ADDRESSES: '192.0.2.25', SMTP_HELO_NAME: 'mail.example.test' }
  expect(await diagnose('ptr', env)).toMatchObject({
    state: 'failed',
    seen: '192.0.2.25 has no PTR record: many receivers refuse its mail',
    wayOut: expect.stringContaining('mail.example.test'),
  })
  const question = '25.2.0.192.in-addr.arpa'
  dns.zone[`PTR ${question}`] = [{ type: 'PTR', name: question, data: 'mail.example.test' }]
  dns.zone['A mail.example.test'] = [a('mail.example.test', '192.0.2.99')]
  expect(await diagnose('ptr', env)).toMatchObject({
    state: 'failed',
    seen: 'the PTR record of 192.0.2.25 names mail.example.test, which does not lead back to it',
  })
  dns.zone['A mail.example.test'] = [a('mail.example.test', '192.0.2.25')]
  expect(await diagnose('ptr', env)).toEqual({ state: 'ok', seen: '192.0.2.25 is mail.example.test' })
})

test('a HELO name fails that is no full name, that has no address, or that leads elsewhere', async () => {
  const env = { ...production, SMTP_PUBLIC_ADDRESSES: '192.0.2.25,2001:db8::25' }
  const helo = (SMTP_HELO_NAME: string) => diagnose('helo', { ...env, SMTP_HELO_NAME })
  expect(await helo('mailhost')).toMatchObject({ state: 'failed', seen: expect.stringContaining('not a full name') })
  expect(await helo('absent.test')).toMatchObject({ state: 'failed', seen: expect.stringContaining('has no address') })
  dns.zone['A out.test'] = [a('out.test', '192.0.2.25')]
  expect(await helo('out.test')).toMatchObject({
    state: 'failed',
    seen: 'out.test leads to 192.0.2.25, and not to 2001:db8::25',
  })
  dns.zone['AAAA out.test'] = [aaaa('out.test', '2001:db8::25')]
  expect(await helo('out.test')).toMatchObject({ state: 'ok' })
  dns.zone['A out.test'] = 'servfail'
  expect(await helo('out.test')).toMatchObject({
    state: 'warning',
    seen: expect.stringMatching(/^could not be tried: DNS does not answer for out\.test/),
  })
})

test('a closed port 25 fails; a greeting is enough; without an answer of DNS it could not be tried', async () => {
  const received: string[] = []
  let greeting = '220 mx.probe.test ESMTP\r\n'
  const server = createServer((socket) => {
    socket.on('data', (data) => received.push(String(data))).on('error', () => {})
    socket.write(greeting)
  })
  const port = await listenUntilEnd(server)
  const env = { ...production, SMTP_PORT: String(port), SMTP_SOURCE_ADDRESSES: '127.0.0.1' }
  expect(await diagnose('port_25', env)).toMatchObject({
    state: 'warning',
    seen: 'could not be tried: probe.test has no MX record',
  })
  dns.zone['MX probe.test'] = [mx('probe.test', 10, 'mx.probe.test')]
  dns.zone['A mx.probe.test'] = [a('mx.probe.test', '127.0.0.1')]
  expect(await diagnose('port_25', env)).toEqual({
    state: 'ok',
    seen: `mx.probe.test (127.0.0.1) on port ${port} from 127.0.0.1 greeted`,
  })
  await expect.poll(() => received).toEqual(['QUIT\r\n'])
  greeting = '554 5.7.1 no service for you\r\n'
  expect(await diagnose('port_25', env)).toMatchObject({
    state: 'warning',
    seen: expect.stringContaining('said "554 5.7.1 no service for you"'),
  })
  const strict = { ...env, SMTP_ALLOW_SUBNETS: '' }
  expect(await diagnose('port_25', strict)).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('127.0.0.1, which is not public'),
  })
  server.close()
  expect(await diagnose('port_25', env)).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/cannot be reached \(ECONNREFUSED\), although DNS answers/),
  })
  dns.zone['MX probe.test'] = 'servfail'
  expect(await diagnose('port_25', env)).toMatchObject({
    state: 'warning',
    seen: 'could not be tried: DNS MX probe.test: SERVFAIL',
  })
})

test('what only mail to the Internet needs is skipped in development', async () => {
  for (const name of ['resolver', 'port_25', 'public_addresses', 'ptr', 'helo']) {
    expect(await diagnose(name, {})).toEqual({ state: 'skipped', seen: 'only production needs it' })
  }
})

test('an old PostgreSQL fails, and a clock that is off is a warning or fails', () => {
  expect(versionFinding('14.19 (Debian)')).toMatchObject({ state: 'failed' })
  expect(versionFinding('15.1')).toMatchObject({ state: 'ok' })
  expect(clockFinding(-3_000)).toMatchObject({
    state: 'warning',
    seen: "this machine's clock is 3.0 s behind the database's",
  })
  expect(clockFinding(120_000)).toMatchObject({ state: 'failed', seen: expect.stringContaining('120 s ahead of') })
})

test('the report has at most 80 columns, and its colours mark states only', () => {
  const words = 'the quick brown fox jumps over the lazy dog and runs away from it at once'
  const results: CheckResult[] = [
    { group: 'One', name: 'first', state: 'ok', seen: words },
    { group: 'One', name: 'second_check', state: 'failed', seen: `${words} ${words}`, wayOut: words },
    { group: 'Two', name: 'third', state: 'warning', seen: 'failed is a word here', wayOut: words },
  ]
  const report = reportText(results)
  expect(Math.max(...report.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
  expect(report).toMatch(/^One\n {2}ok {7}first {9}the quick/)
  expect(report).toMatch(/\n {25}Fix: the quick[\s\S]*\n\nTwo\n[\s\S]*\n\n1 failed, 1 warning, 1 ok, 0 skipped\.$/)
  expect(inColour(report).match(/\x1b\[3\dm {2}\w+/g)).toEqual([
    '\x1b[32m  ok',
    '\x1b[31m  failed',
    '\x1b[33m  warning',
  ])
  expect(stateOf(results)).toBe('failed')
  expect(stateOf(results.slice(0, 1))).toBe('ok')
})

test('findings of several addresses become the worst of them', () => {
  const failure = { state: 'failed', seen: 'b', wayOut: 'B.' } as const
  expect(worstOf([{ state: 'ok', seen: 'a' }, failure, { ...failure, seen: 'c' }])).toEqual({
    state: 'failed',
    seen: 'b. c',
    wayOut: 'B.',
  })
})

test('the name of a PTR record is the address backwards', () => {
  expect(reverseName('192.0.2.25')).toBe('25.2.0.192.in-addr.arpa')
  expect(reverseName('2001:db8::25')).toBe(`5.2.${'0.'.repeat(22)}8.b.d.0.1.0.0.2.ip6.arpa`)
})

import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { examine } from '../../../cli/doctor/examine.ts'
import { createPatient } from '../../../cli/doctor/patient.ts'
import { a, mx, startDns } from '../../harness/dns.ts'
import { startSilentPort } from '../../harness/silent-port.ts'
import { listenUntilEnd, untilEnd } from '../../harness/until-end.ts'
import { diagnose, ENCRYPTION_KEYS, PRODUCTION } from './patients.ts'

// Parts that are there and silent.

test('a slow resolver is a warning, and a silent one fails', async () => {
  const dns = untilEnd(await startDns({ '*': { after: 700, act: 'nxdomain' } }))
  const env = { ...PRODUCTION, DNS_SERVERS: dns.address }
  expect(await diagnose('resolver', env)).toMatchObject({
    state: 'warning',
    seen: expect.stringMatching(/took (?:[7-9]\d\d|1\d{3}) ms/),
  })
  dns.zone['*'] = 'silence'
  expect(await diagnose('resolver', env)).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('does not answer (timeout)'),
  })
})

test('the doctor finds a process that hangs behind a proxy, beside one that answers', async () => {
  let requests = 0
  const proxy = createServer((_, response) => {
    if (requests++ % 2 === 0) response.writeHead(200).end()
  })
  const PUBLIC_URL = `http://127.0.0.1:${await listenUntilEnd(proxy)}`
  expect(await diagnose('readyz', { PUBLIC_URL })).toMatchObject({
    state: 'failed',
    seen: `2 of 4 requests to ${PUBLIC_URL}/readyz got no response within 5 s: a process of the API hangs`,
  })
})

test('with a silent database, DNS, port 25 and Temporal a diagnosis takes less than 15 s and names each of them', async () => {
  const silent = untilEnd(await startSilentPort())
  const dns = untilEnd(
    await startDns({
      '*': 'silence',
      'MX probe.test': [mx('probe.test', 10, 'mx.probe.test')],
      'A mx.probe.test': [a('mx.probe.test', '127.0.0.1')],
    }),
  )
  const startedMs = performance.now()
  const where = `127.0.0.1:${silent.port}`
  const patient = createPatient(
    {
      ...PRODUCTION,
      DATABASE_URL: `postgres://verdict@${where}/verdict`,
      ENCRYPTION_KEYS,
      DNS_SERVERS: dns.address,
      SMTP_PORT: String(silent.port),
      SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
      SMTP_HELO_NAME: 'mail.example.test',
      SMTP_PUBLIC_ADDRESSES: '192.0.2.25',
      PUBLIC_URL: `https://${where}`,
      TEMPORAL_ADDRESS: where,
    },
    'probe.test',
  )
  const results = await examine(patient)
  await patient.close()
  const tookMs = performance.now() - startedMs
  const state = Object.fromEntries(results.map(({ name, state }) => [name, state]))
  expect(state).toMatchObject({
    database: 'failed',
    resolver: 'failed',
    port_25: 'failed',
    temporal: 'failed',
    ptr: 'warning',
    helo: 'warning',
    certificate: 'skipped',
    backlog: 'skipped',
  })
  // The promised time: checks run side by side, and each has its own limit.
  expect(tookMs).toBeLessThan(15_000)
})

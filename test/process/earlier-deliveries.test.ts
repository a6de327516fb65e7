import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, test } from 'vitest'
import { rememberEarlierDeliveries } from '../../server/process/earlier-deliveries.ts'
import { AUTHORITY, CERTIFICATE } from '../harness/certificates.ts'
import { a, mx } from '../harness/dns.ts'
import { startExchanger } from '../harness/exchanger.ts'
import { untilEnd } from '../harness/until-end.ts'
import { message, startSendingWorld } from '../sending/world.ts'

const routed = 'mailhost.org'
const verified = 'mx1.example.test'
const world = await startSendingWorld({
  'A own.org': [a('own.org', '127.0.0.1')],
  'AAAA own.org': 'nodata',
  'MX own.org': 'nodata',
  'MX routed.org': [mx('routed.org', 10, routed)],
  [`A ${routed}`]: [a(routed, '127.0.0.1')],
  [`AAAA ${routed}`]: 'nodata',
  'MX proven.org': [mx('proven.org', 10, verified)],
  [`A ${verified}`]: [a(verified, '127.0.0.1')],
  [`AAAA ${verified}`]: 'nodata',
})

async function remembered(nowMs: number) {
  const found = new Set<string>()
  const reached = new Map<string, string | null | undefined>()
  const parts = {
    db: world.db,
    resolver: { remember: (domain: string) => void found.add(domain) },
    engine: { remember: async (...delivery: [string, string?]) => void reached.set(...delivery) },
    hasStaticRoute: (domain: string) => domain === 'routed.org',
  }
  await rememberEarlierDeliveries(parts, nowMs)
  return { found: [...found].sort(), reached: Object.fromEntries(reached) }
}

test('a new process knows the domains whose servers took a message within two days', async () => {
  setDefaultCACertificates([...getCACertificates('default'), AUTHORITY])
  const exchanger = untilEnd(await startExchanger({ ehlo: '250-mx.test\r\n250 STARTTLS' }, CERTIFICATE))
  const toProven = world.sendAlone({ engine: untilEnd(world.engineWith({ smtpPort: exchanger.port })) })
  await toProven(message({ to: ['ann@proven.org'] }), world.options())
  const own = ['ann@own.org', 'ann@routed.org', 'ann@absent.org', 'delivered@simulator.test']
  for (const to of ['ann@Example.net', 'bob@example.net', ...own]) await world.send({ to: [to] })
  await world.send({ to: ['ann@dry.org'] }, { sandbox: true })
  const nowMs = world.clock.now()
  // A domain of its own has no MX records to be found by. Of one with a route DNS need not know anything.
  const known = {
    found: ['example.net', 'proven.org'],
    reached: { 'example.net': null, 'routed.org': null, 'proven.org': verified },
  }
  expect(await remembered(nowMs)).toEqual(known)
  expect(await remembered(nowMs + 1.9 * 86_400_000)).toEqual(known)
  expect(await remembered(nowMs + 2.1 * 86_400_000)).toEqual({ found: [], reached: {} })
})

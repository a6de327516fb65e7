import { expect, test } from 'vitest'
import { rememberEarlierDeliveries } from '../../server/process/earlier-deliveries.ts'
import { a, mx } from '../harness/dns.ts'
import { startSendingWorld } from '../sending/world.ts'

const routed = 'mailhost.org'
const world = await startSendingWorld({
  'A own.org': [a('own.org', '127.0.0.1')],
  'AAAA own.org': 'nodata',
  'MX own.org': 'nodata',
  'MX routed.org': [mx('routed.org', 10, routed)],
  [`A ${routed}`]: [a(routed, '127.0.0.1')],
  [`AAAA ${routed}`]: 'nodata',
})

async function remembered(nowMs: number) {
  const [found, reached] = [new Set<string>(), new Set<string>()]
  const parts = {
    db: world.db,
    resolver: { remember: (domain: string) => void found.add(domain) },
    engine: { remember: async (domain: string) => void reached.add(domain) },
    hasStaticRoute: (domain: string) => domain === 'routed.org',
  }
  await rememberEarlierDeliveries(parts, nowMs)
  return { found: [...found].sort(), reached: [...reached].sort() }
}

test('a new process knows the domains whose servers took a message within two days', async () => {
  for (const to of ['ann@Example.net', 'bob@example.net', 'ann@own.org', 'ann@routed.org', 'ann@absent.org'])
    await world.send({ to: [to] })
  await world.send({ to: ['ann@dry.org'] }, { sandbox: true })
  const nowMs = world.clock.now()
  // A domain of its own has no MX records to be found by. Of one with a route DNS need not know anything.
  const known = { found: ['example.net'], reached: ['example.net', 'routed.org'] }
  expect(await remembered(nowMs)).toEqual(known)
  expect(await remembered(nowMs + 1.9 * 86_400_000)).toEqual(known)
  expect(await remembered(nowMs + 2.1 * 86_400_000)).toEqual({ found: [], reached: [] })
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { a, type DnsAct, mx, txt } from '../harness/dns.ts'
import { untilEnd } from '../harness/until-end.ts'
import { domainOf, startVerifier, type Zone, zoneOf } from './verifying.ts'

// The law: what DNS denies of a domain's records, or has in their place, counts only while it finds other domains.

const NAMES = ['shop.example.com', 'example.org']
const KNOWN = ['com', 'org'].flatMap((top) => ['one', 'two', 'three', 'four'].map((zone) => `${zone}.${top}`))

/** What a resolver says of a name; undefined where it says the truth. */
const LIES: Record<string, (type: string, name: string) => DnsAct | undefined> = {
  'denies all names': () => 'nxdomain',
  'has no records': () => 'nodata',
  'knows the own network alone': (type, name) =>
    name.endsWith('.com') && type === 'TXT' ? [txt(name, 'internal')] : 'nxdomain',
  'is a captive portal': (type, name) => (type === 'A' ? [a(name, '10.0.0.1')] : 'nodata'),
  'has one text for all names': (type, name) => (type === 'TXT' ? [txt(name, 'log in first')] : 'nodata'),
}

test('a record is missing or wrong only while DNS finds other domains', async () => {
  const { dns, resolver, check } = await startVerifier({})
  untilEnd(dns)
  const circumstances = fc.record({
    name: fc.constantFrom(...NAMES),
    lie: fc.option(fc.constantFrom(...Object.keys(LIES)), { nil: undefined }),
    /** The owner has removed these records. */
    removed: fc.subarray([0, 1, 2, 3]),
  })
  for (const known of KNOWN) resolver.remember(known)
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(circumstances, async ({ name, lie, removed }) => {
      const domain = domainOf(name)
      const records = Object.entries(zoneOf(domain))
      const world: Zone = Object.fromEntries(records.filter((_, index) => !removed.includes(index)))
      for (const known of KNOWN) world[`MX ${known}`] = [mx(known, 10, `mx.${known}`)]
      for (const question of [...records.map(([each]) => each), ...Object.keys(world), '*']) {
        const [type = '', of = ''] = question.split(' ')
        dns.zone[question] = (lie ? LIES[lie]!(type, of) : undefined) ?? world[question] ?? 'nxdomain'
      }
      const statuses = Object.values(await check(domain)).map(({ status }) => status)
      if (lie) expect(statuses).not.toContain('failed')
      else expect(statuses.filter((status) => status === 'failed')).toHaveLength(removed.length)
      for (const status of statuses) seen.add(`${lie} ${status}`)
    }),
    { numRuns: 100 },
  )
  for (const lie of Object.keys(LIES)) expect(seen).toContain(`${lie} pending`)
  expect(seen).toContain('undefined failed')
  expect(seen).toContain('undefined verified')
})

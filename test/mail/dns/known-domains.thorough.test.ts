import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMxLookUp } from '../../../mail/smtp/mx.ts'
import { a, type DnsAct, mx } from '../../harness/dns.ts'
import { dnsOfFile } from './servers.ts'

// The law: what DNS denies of a domain counts as the domain's lack only while DNS finds others.

const dnsWith = dnsOfFile()

const ZONES = ['one', 'two', 'mail.three', 'four', 'five']
const LIVE = ['com', 'org'].flatMap((top) => ZONES.map((zone) => `${zone}.${top}`)).concat('one.corp', 'two.corp')
/** Found before, so that each public top level has enough witnesses. */
const SEEN = LIVE.filter((domain) => !domain.endsWith('.corp'))
const ENOUGH = 4
const ABSENT = ['gone.com', 'gone.org', 'gone.corp', 'gone.net']

/** What a resolver says of a name in each state; undefined where it says the truth. */
const STATES: Record<string, (type: string, name: string) => DnsAct | undefined> = {
  well: () => undefined,
  'denies all names': () => 'nxdomain',
  'has no records': () => 'nodata',
  'knows the own network alone': (_, name) => (name.endsWith('.corp') ? undefined : 'nxdomain'),
  'is a captive portal': (type, name) => (type === 'A' ? [a(name, '10.0.0.1')] : 'nodata'),
  'leads all names to one address': (type, name) => (type === 'A' ? [a(name, '192.0.2.66')] : 'nodata'),
}

const truth = (type: string, name: string): DnsAct => {
  if (name.startsWith('mx.')) return type === 'A' ? [a(name, '192.0.2.1')] : 'nodata'
  if (!LIVE.includes(name)) return 'nxdomain'
  return type === 'MX' ? [mx(name, 10, `mx.${name}`)] : 'nodata'
}

test('what DNS denies counts against a domain only while others are still found', async () => {
  const step = fc.record({
    domain: fc.oneof(fc.constantFrom(...LIVE), fc.constantFrom(...ABSENT)),
    state: fc.oneof(fc.constant('well'), fc.constantFrom(...Object.keys(STATES))),
    /** What is cached may be outdated. */
    passesS: fc.constantFrom(0, 61, 3_601),
  })
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 20 }), async (steps) => {
      const { dns, clock, resolver } = await dnsWith({})
      const mayDial = (address: string) => !address.startsWith('10.')
      const lookUp = createMxLookUp({ resolver, mayDial, smtpPort: 25, routes: new Map(), random: Math.random })
      const found = new Set<string>()
      const before = SEEN.map((domain) => ({ domain, state: 'well', passesS: 0 }))
      for (const { domain, state, passesS } of [...before, ...steps]) {
        clock.ms += passesS * 1_000
        const say = (type: string, name: string) => STATES[state]!(type, name) ?? truth(type, name)
        for (const name of [...LIVE, ...ABSENT].flatMap((name) => [name, `mx.${name}`]))
          for (const type of ['MX', 'A', 'AAAA']) dns.zone[`${type} ${name}`] = say(type, name)
        const lookup = await lookUp(domain)
        const { kind } = lookup
        if (lookup.kind === 'site') expect(lookup.site.hosts.map(({ addresses }) => addresses)).toEqual([['192.0.2.1']])
        const isKnown = (other: string) => other !== domain && found.has(other)
        const near = [...found].filter(
          (other) => isKnown(other) && other.split('.').at(-1) === domain.split('.').at(-1),
        )
        const witnesses = near.length >= ENOUGH ? near : [...found].filter(isKnown)
        const lost = witnesses.filter((witness) => !Array.isArray(say('MX', witness)))
        const isTold = kind !== 'site' && kind !== 'our_fault'
        // Its own records are found then.
        if (LIVE.includes(domain) && Array.isArray(say('MX', domain))) expect(isTold).toBe(false)
        else if (witnesses.length >= ENOUGH && lost.length === witnesses.length) expect(isTold).toBe(false)
        else if (ABSENT.includes(domain) && lost.length === 0) expect(kind).toBe('no_mx_record')
        seen.add(`${state} ${kind}`)
        if (kind === 'site') found.add(domain)
      }
    }),
    { numRuns: 60 },
  )
  for (const state of Object.keys(STATES).slice(1)) expect(seen).toContain(`${state} our_fault`)
  expect(seen).toContain('well no_mx_record')
})

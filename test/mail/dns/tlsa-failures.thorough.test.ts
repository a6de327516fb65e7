import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DnsAct } from '../../harness/dns.ts'
import { dnsOfFile } from './servers.ts'

// The law: a TLSA look-up that fails says something of its zone only while others do not fail.

const dnsWith = dnsOfFile()

const NAMES = ['one.com', 'two.com', 'three.com', 'four.org', 'five.org', 'six.net'].map(
  (zone) => `_25._tcp.mx.${zone}`,
)
const ENOUGH = 4

test('SERVFAIL for a TLSA record is of its zone only while others are answered', async () => {
  const step = fc.record({
    name: fc.constantFrom(...NAMES),
    /** Which names the servers fail for. */
    failing: fc.constantFrom('none', 'it', 'all'),
    passesS: fc.constantFrom(0, 61),
  })
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(NAMES), fc.array(step, { maxLength: 6 }), async (answered, steps) => {
      const { dns, clock, resolver } = await dnsWith({})
      const before = answered.map((name) => ({ name, failing: 'none', passesS: 0 }))
      const known = new Set<string>()
      for (const { name, failing, passesS } of [...before, ...steps]) {
        clock.ms += passesS * 1_000
        const fails = (other: string) => failing === 'all' || (failing === 'it' && other === name)
        for (const other of NAMES) dns.zone[`TLSA ${other}`] = (fails(other) ? 'servfail' : 'nodata') satisfies DnsAct
        const answer = await resolver.tlsa(name.toUpperCase())
        const others = [...known].filter((other) => other !== name)
        if (answer.kind !== 'failure') known.add(name)
        else if (others.length >= ENOUGH) expect(answer.isServfail === true).toBe(failing === 'it')
        else expect(answer.isServfail).toBe(true)
        if (answer.kind === 'failure') seen.add(`${failing} ${answer.isServfail ?? false}`)
      }
    }),
    { numRuns: 100 },
  )
  expect([...seen].sort()).toEqual(['all false', 'all true', 'it true'])
})

import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { domainFacts, report, view } from '../../cli/domain-text.ts'
import { applyChecks } from '../../server/domains/apply-checks.ts'
import { findDomain, findDomainById } from '../../server/domains/domains.ts'
import { HOSTILE, hostile, rawRecord, respond } from '../harness/hostile.ts'
import { startSendingWorld } from '../sending/world.ts'
import { HOSTS, startVerifier } from './verifying.ts'

// The owner of a domain, or an attacker with its DNS, decides what a check finds. The text reaches the database, the
// API and an operator's terminal.

const ALIAS = { ...HOSTS, returnPathHost: 'rp.operator.example' }
const world = await startSendingWorld()
const { dns, check } = await startVerifier({}, { hosts: ALIAS, queryMs: 1_000, totalMs: 3_000 })
afterAll(() => dns.close())

const pendingDomain = () => findDomain(world.db, world.account.id, 'pending.test')

const label = fc.oneof(
  hostile.map((text) => Buffer.from(text).subarray(0, 63)),
  fc.uint8Array({ minLength: 1, maxLength: 63 }),
)
const name = label.map((octets) =>
  Buffer.concat([Buffer.from([octets.length]), octets, Buffer.from('\x04test\0', 'latin1')]),
)
const alias = (data: Buffer) => ({ TXT: rawRecord('CNAME', data), MX: rawRecord('CNAME', data) })
const PUBLISHED = Buffer.from('\x01a\x04test\0', 'latin1')
/** A record whose name ends before the record does. */
const UNREADABLE = Buffer.from('\0\x04test\0', 'latin1')
const exchange = name.map((octets) => Buffer.concat([Buffer.from([0, 10]), octets]))
const text = fc
  .tuple(fc.constantFrom('', 'v=spf1 include:', 'v=DKIM1; p=', 'v=DMARC1; p='), label)
  .map(([start, octets]) => {
    const string = Buffer.concat([Buffer.from(start), octets])
    return Buffer.concat([Buffer.from([string.length]), string])
  })
const answer = fc.oneof(
  name.map((data) => ({ TXT: rawRecord('CNAME', data), MX: rawRecord('CNAME', data) })),
  fc.tuple(exchange, text).map(([mx, txt]) => ({ MX: rawRecord('MX', mx), TXT: rawRecord('TXT', txt) })),
)

test('a check of any published octets can be stored, and can be printed', async () => {
  const { id } = (await pendingDomain())!
  await fc.assert(
    fc.asyncProperty(answer, async ({ TXT, MX }) => {
      dns.zone['*'] = { raw: (query) => respond(query, query.includes(Buffer.from([0, 16, 0, 1])) ? TXT : MX) }
      const domain = (await findDomainById(world.db, id))!
      const findings = await check(domain)
      expect(JSON.stringify(findings)).not.toMatch(HOSTILE)
      await applyChecks({ ...world, hosts: ALIAS }, domain, findings)
      const stored = (await findDomainById(world.db, id))!
      // A record whose servers did not answer keeps its previous status.
      const told = Object.entries(findings).filter(([, { status }]) => status !== 'pending')
      expect(stored.checks).toMatchObject(Object.fromEntries(told))
    }),
    { numRuns: 40, examples: [PUBLISHED, UNREADABLE].map((data) => [alias(data)]) },
  )
})

test('text that was stored before texts were cleaned does not reach the terminal either', async () => {
  const domain = (await pendingDomain())!
  const old = {
    status: 'failed' as const,
    observed: ['\x9b31m'],
    error: 'an alias of \x1b]0;x\x07\u202e.',
    checked_at: '2026-01-01T00:00:00Z',
  }
  const stored = { ...domain, checks: { SPF: old, RETURN_PATH: old, DMARC: old } }
  expect(report(domainFacts(stored)).replaceAll('\n', '')).not.toMatch(HOSTILE)
  expect(view(stored).records).toHaveLength(4)
})

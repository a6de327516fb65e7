import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { labelledReplies, REPLIES } from '../../bench/verdicts/labelled.ts'
import { EvidenceKindSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import { eq } from '../../server/db/drizzle.ts'
import { shortNames } from '../../server/db/enum-names.ts'
import { newId } from '../../server/db/ids.ts'
import { matchingSql } from '../../server/db/matching-sql.ts'
import { auditEntries } from '../../server/db/people-schema.ts'
import { refusals, suppressions } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { script } from '../sending/world.ts'
import { startApi } from './api.ts'

// What the entries of the suppression list rest on, how they are found by it, and how those of a time are lifted.

const api = await startApi()
beforeEach(async () => {
  await run(api.world.db, 'truncate suppressions, refusals')
})

const PATH = '/api/v1/suppression'
interface Smtp {
  code?: number
  reply?: string
  read_as?: string
  decided_by?: string
  words?: string
}

test('an entry shows the reply that made it as the response did, and when the address last took mail', async () => {
  const to = 'ann@example.net'
  const delivered = (await api.send({ to })).json
  script(api.world, { rcpt: '550 5.1.1 <ann@example.net>: User unknown' })
  const { smtp } = (await api.send({ to })).json
  script(api.world, {})
  const { entries } = (await api.call('GET', `${PATH}?email=${to}`)).json
  const { mx, ip, tls, duration_ms, timings, transaction, reused, ...told } = smtp
  expect(entries).toMatchObject([{ reason: 'bounce', evidence: { kind: 'unknown', ...told } }])
  const { completedAt } = (await api.call('GET', `/api/v1/emails/${delivered.message_id}`)).json
  expect(entries[0].evidence.last_delivered_at).toBe(completedAt)
  expect(entries[0].expires_at).toBeDefined()
})

test('an entry of an import, or added by hand, has no evidence, also when it replaces one that had', async () => {
  script(api.world, { rcpt: '552 5.2.2 Mailbox full' })
  const to = 'full@example.net'
  for (const _ of [1, 2, 3]) {
    await api.send({ to })
    await run(api.world.db, `update refusals set created_at = created_at - interval '2 days'`)
  }
  script(api.world, {})
  const only = async () => (await api.call('GET', `${PATH}?email=${to}`)).json.entries[0]
  expect(await only()).toMatchObject({ evidence: { kind: 'full' } })
  const { import_id } = (await api.call('POST', `${PATH}/import`, { body: { emails: [to], reason: 'bounce' } })).json
  expect(await only()).not.toHaveProperty('evidence')
  await api.call('DELETE', `${PATH}/imports/${import_id}`)
  expect(await only()).toMatchObject({ evidence: { kind: 'full' } })
})

// Filters and the lifting of a time

const HOUR = 3_600_000
const BEGIN = Date.parse('2026-03-01T00:00:00Z')
const KINDS = shortNames(EvidenceKindSchema)
const jsonKind = (kind: string) => `EVIDENCE_KIND_${kind.toUpperCase()}`

const entryArbitrary = fc.record({
  hour: fc.integer({ min: 0, max: 12 }),
  reason: fc.constantFrom('bounce' as const, 'complaint' as const, 'import' as const, 'manual' as const),
  kind: fc.option(fc.constantFrom(...KINDS), { nil: undefined }),
  domain: fc.constantFrom('a.example', 'b.example', 'sub.a.example'),
  tenantId: fc.constantFrom('', 'shop-1', 'shop-2'),
  ends: fc.constantFrom('never', 'later', 'past'),
})
const filterArbitrary = fc.record({
  from: fc.integer({ min: 0, max: 12 }),
  hours: fc.integer({ min: 0, max: 12 }),
  kind: fc.option(fc.constantFrom(...KINDS.filter((kind) => kind !== 'complaint')), { nil: undefined }),
  domain: fc.option(fc.constantFrom('a.example', 'b.example', 'A.example', 'c.example'), { nil: undefined }),
  tenant_id: fc.option(fc.constantFrom('shop-1', 'shop-3'), { nil: undefined }),
})
type Given = typeof entryArbitrary extends fc.Arbitrary<infer T> ? T : never
type Filter = typeof filterArbitrary extends fc.Arbitrary<infer T> ? T : never

const endOf = { never: null, later: new Date(Date.now() + 30 * 24 * HOUR), past: new Date(Date.now() - HOUR) }

const matches = (entry: Given, { from, hours, kind, domain, tenant_id }: Filter) =>
  entry.ends !== 'past' &&
  entry.hour >= from &&
  entry.hour < from + hours &&
  (kind === undefined || entry.kind === kind) &&
  (domain === undefined || entry.domain === domain.toLowerCase()) &&
  (tenant_id === undefined || entry.tenantId === tenant_id)

const emailOf = ({ domain }: Given, i: number) => `${i}@${domain}`

async function store(given: readonly Given[]) {
  await run(api.world.db, 'truncate suppressions, refusals')
  const accountId = api.world.account.id
  const rows = given.map((entry, i) => {
    const createdAt = new Date(BEGIN + entry.hour * HOUR)
    const { reason, tenantId, kind } = entry
    const evidence = kind === undefined ? null : { kind: jsonKind(kind) }
    const common = { accountId, tenantId, email: emailOf(entry, i), createdAt }
    return { ...common, id: newId(createdAt.getTime()), reason, evidence, expiresAt: endOf[entry.ends] }
  })
  await api.world.db.insert(suppressions).values(rows)
  await api.world.db.insert(refusals).values(
    rows.map(({ accountId, tenantId, email }) => ({
      eventId: newId(Date.now()),
      accountId,
      tenantId,
      email,
      kind: 'full' as const,
    })),
  )
}

const bodyOf = ({ from, hours, ...filter }: Filter) => ({
  created_from: new Date(BEGIN + from * HOUR).toISOString(),
  created_to: new Date(BEGIN + (from + hours) * HOUR).toISOString(),
  ...filter,
})

const emailsIn = async (table: 'suppressions' | 'refusals') =>
  (await run<{ email: string }>(api.world.db, `select email from ${table} order by ${matchingSql('email')}`)).map(
    ({ email }) => email,
  )

test('a list shows the entries in force that match every filter; a lift takes those that bounces made, no other', async () => {
  const property = fc.asyncProperty(
    fc.array(entryArbitrary, { minLength: 1, maxLength: 25 }),
    filterArbitrary,
    async (given, filter) => {
      await store(given)
      const emails = (kept: (entry: Given) => boolean) =>
        given
          .map(emailOf)
          .filter((_, i) => kept(given[i]!))
          .sort()
      const found = (body: { entries: { email: string }[] }) => body.entries.map(({ email }) => email).sort()
      const query = new URLSearchParams(JSON.parse(JSON.stringify({ ...bodyOf(filter), limit: '1000' })))
      expect(found((await api.call('GET', `${PATH}?${query}`)).json)).toEqual(emails((entry) => matches(entry, filter)))

      const isLifted = (entry: Given) => matches(entry, filter) && entry.reason === 'bounce'
      const lift = (dry_run: boolean) => api.call('POST', `${PATH}/lift`, { body: { ...bodyOf(filter), dry_run } })
      const preview = (await lift(true)).json
      expect(await emailsIn('suppressions')).toEqual(emails(() => true))
      const lifted = (await lift(false)).json
      expect(lifted).toEqual(preview)
      expect([lifted.lifted, found(lifted)]).toEqual([emails(isLifted).length, emails(isLifted)])
      expect(await emailsIn('suppressions')).toEqual(emails((entry) => !isLifted(entry)))
      // What counted against a lifted address is forgotten, and nothing else.
      expect(await emailsIn('refusals')).toEqual(emails((entry) => !isLifted(entry)))
      expect((await lift(false)).json).toEqual({ lifted: 0, entries: [] })
    },
  )
  await fc.assert(property, { numRuns: 25 })
})

test('a lift of more entries than one step lifts them all, shows the first 100, and is recorded by step', async () => {
  const createdAt = new Date(BEGIN)
  const rows = Array.from({ length: 2_300 }, (_, i) => ({
    ...{ id: newId(BEGIN), accountId: api.world.account.id, tenantId: '', email: `${i}@steps.example` },
    ...{ reason: 'bounce' as const, createdAt },
  }))
  await api.world.db.insert(suppressions).values(rows)
  const body = { created_from: '2026-03-01', created_to: '2026-03-02', domain: 'steps.example' }
  const { json } = await api.call('POST', `${PATH}/lift`, { body })
  expect([json.lifted, json.entries.length]).toEqual([2_300, 100])
  const recorded = await api.world.db.select().from(auditEntries).where(eq(auditEntries.action, 'suppression.lift'))
  const ofIt = recorded.filter(({ after }) => (after as { domain?: string }).domain === 'steps.example')
  expect(ofIt.map(({ target }) => target).sort()).toEqual(['1000 addresses', '1000 addresses', '300 addresses'])
  expect(ofIt[0]).toMatchObject({
    after: { created_from: '2026-03-01T00:00:00.000Z', created_to: '2026-03-02T00:00:00.000Z' },
  })
})

test('a lift stays within its account', async () => {
  await store([{ hour: 1, reason: 'bounce', kind: 'unknown', domain: 'a.example', tenantId: '', ends: 'never' }])
  const body = { created_from: '2026-03-01', created_to: '2026-03-02' }
  expect((await api.call('POST', `${PATH}/lift`, { body, key: api.keys.stranger })).json).toEqual({
    lifted: 0,
    entries: [],
  })
  expect(await emailsIn('suppressions')).toHaveLength(1)
})

test('a response says what decided its refusal: words of the reply, its status, or its code', async () => {
  const refused = REPLIES.flatMap(labelledReplies).filter(({ phase }) => phase === 'rcpt')
  // Each run takes others.
  const first = randomInt(35)
  const some = refused.filter((_, i) => i % 35 === first)
  expect(some.length).toBeGreaterThan(20)
  for (const { line } of some) {
    script(api.world, { rcpt: line })
    const { smtp } = (await api.send({ to: 'ann@example.net' })).json as { smtp: Smtp }
    await run(api.world.db, 'truncate suppressions, refusals, hourly_stats, breakers')
    if (smtp.read_as === undefined) continue
    expect(['words', 'status', 'code']).toContain(smtp.decided_by)
    expect(smtp.words !== undefined, line).toBe(smtp.decided_by === 'words')
    if (smtp.words !== undefined) expect(`${smtp.reply}`).toContain(smtp.words)
  }
  script(api.world, {})
})

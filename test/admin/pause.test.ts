import { timestampMs } from '@bufbuild/protobuf/wkt'
import { createServiceImplSpec } from '@connectrpc/connect'
import { beforeEach, expect, test } from 'vitest'
import { DomainService } from '../../gen/verdict/admin/v1/domains_pb.ts'
import { createPausedDomainService } from '../../server/admin/domains.ts'
import { resumeDomain } from '../../server/admin/pause.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { desc, eq, sql } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { auditEntries } from '../../server/db/people-schema.ts'
import { breakers, hourlyStats, refusedSends } from '../../server/db/schema.ts'
import { createDomain, type Domain } from '../../server/domains/domains.ts'
import { BREAKER_REFUSED, createBreaker } from '../../server/reputation/breaker.ts'
import { testAccount } from '../harness/account.ts'
import { faultsOf, startDashboard } from '../harness/person.ts'

const HOUR_MS = 3_600_000
const sealer = createSealer([{ id: 'k', key: Buffer.alloc(32, 1) }])

let domain: Domain
let count = 0
const account = await testAccount()
const service = createPausedDomainService({ ...account, limits: DEFAULT_LIMITS })
const services = [createServiceImplSpec<typeof DomainService>(DomainService, service)]
const dashboard = await startDashboard({ ...account, services })
const { accountId } = account
const people = {
  owner: await dashboard.person({ accountId, role: 'owner' }),
  member: await dashboard.person({ accountId, role: 'member' }),
  reader: await dashboard.person({ accountId, role: 'reader' }),
}
beforeEach(async () => {
  const name = `shop-${count++}.example`
  domain = await createDomain({ ...account, sealer }, { accountId, name, status: 'verified', warmsUp: false })
})

const client = (who: keyof typeof people = 'owner') => people[who].client(DomainService)
const domainId = () => publicId('dom', domain.id)
const pauseOf = async (who?: keyof typeof people) => (await client(who).getPause({ domainId: domainId() })).pause
const resume = (who?: keyof typeof people, reason = 'The list was cleaned') =>
  client(who).resumeDomain({ domainId: domainId(), reason })
const sending = () =>
  createBreaker({ db: account.db, limits: DEFAULT_LIMITS })
    .peek(accountId, domain.name)
    .then(({ state }) => state)

/** 211 emails of this hour and of the one before, 109 of them to mailboxes that do not exist. */
async function pauseIt(): Promise<void> {
  for (const [ago, delivered, mailbox_does_not_exist] of [
    [0, 100, 100],
    [1, 2, 9],
  ] as const) {
    const hour = sql`date_trunc('hour', now(), 'UTC') - ${ago}::int * interval '1 hour'`
    const counts: object = { delivered, mailbox_does_not_exist }
    await account.db.insert(hourlyStats).values({ accountId, tenantId: '', hour, domain: domain.name, ...counts })
  }
  expect(await sending()).toBe('paused')
}

async function refuse(sender: string, message = BREAKER_REFUSED): Promise<void> {
  await account.db.insert(refusedSends).values({
    id: newId(account.clock.now() + 1_000),
    accountId,
    requestId: 'r',
    protocol: 'rest',
    error: 'rate_limit_exceeded',
    message,
    fields: [],
    sender,
    recipients: [],
    digest: `${sender}${message}`,
    count: 18,
  })
}

test('a domain that sends as it likes has no pause, and cannot be resumed', async () => {
  expect(await pauseOf('reader')).toBeUndefined()
  expect(await faultsOf(resume())).toMatchObject({ reason: 'invalid_payload', fields: [{ field: 'domain_id' }] })
})

test('a pause says since when, until when, for which emails, and how many sends it refused', async () => {
  await pauseIt()
  await refuse(`hello@${domain.name}`)
  await refuse(`info@${domain.name}`)
  await refuse(`hello@other-${domain.name}`)
  await refuse(`sales@${domain.name}`, 'A limit was used up.')
  const pause = (await pauseOf('reader'))!
  expect(pause).toMatchObject({
    refusesAll: true,
    byComplaints: false,
    emails: 211,
    bounces: 109,
    complaints: 0,
    refusedSends: 36,
  })
  expect(pause.resumableAt).toBeUndefined()
  expect(timestampMs(pause.until!) - timestampMs(pause.since!)).toBe(HOUR_MS)
})

test('an owner resumes a domain with a reason, once in 24 hours; the operator at any time', async () => {
  await pauseIt()
  expect(await faultsOf(resume('member'))).toMatchObject({ reason: 'insufficient_role' })
  expect(await faultsOf(resume('owner', ' '))).toMatchObject({ fields: [{ field: 'reason' }] })
  await resume()
  expect(await sending()).toBe('throttled')
  const { refusesAll, until } = (await pauseOf())!
  expect([refusesAll, until]).toEqual([false, undefined])
  const [entry] = await account.db.select().from(auditEntries).orderBy(desc(auditEntries.id)).limit(1)
  expect(entry).toMatchObject({
    action: 'domain.resume',
    target: domain.name,
    after: { reason: 'The list was cleaned' },
    actorName: people.owner.email,
  })
  await account.db.update(breakers).set({ state: 'open' }).where(eq(breakers.domain, domain.name))
  const { reason, message, retryAfterSeconds } = await faultsOf(resume())
  expect(reason).toBe('rate_limit_exceeded')
  expect(message).toMatch(/An owner can do that again after \d{4}-\d\d-\d\d \d\d:\d\d UTC/)
  expect(retryAfterSeconds).toBeGreaterThan((23 * HOUR_MS) / 1_000)
  expect((await pauseOf())!.resumableAt).toBeDefined()
  const requester = { accountId, actor: { kind: 'operator', name: 'root' } } as const
  const byOperator = { requester, reason: 'Asked by the owner' }
  expect(await resumeDomain(account.db, domain, DEFAULT_LIMITS.breaker, byOperator)).toBe('resumed')
  expect(await resumeDomain(account.db, domain, DEFAULT_LIMITS.breaker, byOperator)).toBe('not_paused')
})

test('what bounced before it was resumed does not pause it again', async () => {
  await pauseIt()
  await resume()
  expect(await sending()).toBe('throttled')
  const hour = sql`date_trunc('hour', now(), 'UTC')`
  const isThisHour = sql`${hourlyStats.domain} = ${domain.name} and ${hourlyStats.hour} = ${hour}`
  const counts: object = { delivered: 200 }
  await account.db.update(hourlyStats).set(counts).where(isThisHour)
  expect(await sending()).toBe('active')
})

test('the domain of another account does not exist', async () => {
  const id = publicId('dom', newId(Date.now()))
  expect(await faultsOf(client().getPause({ domainId: id }))).toMatchObject({ reason: 'not_found' })
  expect(await faultsOf(client().resumeDomain({ domainId: id, reason: 'x' }))).toMatchObject({ reason: 'not_found' })
})

import { randomBytes } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import type { DatabaseClock } from '../../server/db/clock.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { domains } from '../../server/db/schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { applyChecks } from '../../server/domains/apply-checks.ts'
import type { Findings } from '../../server/domains/dns-verifier.ts'
import {
  changeSettings,
  createDomain,
  type Domain,
  deleteDomain,
  findDomainById,
} from '../../server/domains/domains.ts'
import { recordsOf } from '../../server/domains/records.ts'
import { makeNextDkimKey } from '../../server/domains/rotation.ts'
import { createDomainVerification } from '../../server/domains/verification.ts'
import { reasonOf } from '../../server/errors.ts'
import { testDatabase } from '../harness/postgres.ts'
import { takes } from '../harness/waits.ts'
import { HOSTS } from './verifying.ts'

const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])
const HOUR = 3_600_000
const DAY = 24 * HOUR
const START = Date.now()
/** The clock of these tests; a test moves it. */
let nowMs = START
const clock: DatabaseClock = { now: () => nowMs, stop() {} }

const database = await testDatabase()
const db = database.db
const accounts: [string, string] = [
  (await createAccount(db, clock, 'One')).id,
  (await createAccount(db, clock, 'Two')).id,
]
beforeEach(async () => {
  nowMs = START
  await db.update(domains).set({ nextCheckAt: null })
})

let made = 0
async function add(name = `d${++made}.example`, accountId = accounts[0]): Promise<Domain> {
  return createDomain({ db, sealer, clock }, { accountId, name, status: 'pending' })
}

const read = async ({ id }: Domain) => (await findDomainById(db, id))!
const apply = (domain: Domain, findings: Findings) => applyChecks({ db, clock, hosts: HOSTS }, domain, findings)

/** Findings in which all records of a domain are right, except these. */
function found(domain: Domain, changes: Findings = {}): Findings {
  const right = { status: 'verified' as const, observed: ['as it should be'] }
  return { ...Object.fromEntries(recordsOf(domain, HOSTS).map(({ check }) => [check, right])), ...changes }
}

const WRONG = { SPF: { status: 'failed' as const, observed: ['v=spf1 -all'], error: 'There is something wrong.' } }
const SILENT = { SPF: { status: 'pending' as const, observed: [], error: 'Nobody answered.' } }

test('a domain is verified when all its records are right, and each record is stored as DNS had it', async () => {
  const domain = await add()
  nowMs += 5_000
  expect(await apply(domain, found(domain))).toBe('verified')
  const verified = await read(domain)
  const checked_at = new Date(nowMs).toISOString()
  expect(verified).toMatchObject({ verifiedAt: new Date(nowMs), failingSince: null })
  expect(verified.checks!.SPF).toEqual({ status: 'verified', observed: ['as it should be'], checked_at })
  expect(verified.nextCheckAt).toEqual(new Date(nowMs + DAY))
})

test('with one wrong record it stays pending', async () => {
  const domain = await add()
  expect(await apply(domain, found(domain, WRONG))).toBe('pending')
  expect((await read(domain)).checks!.SPF).toMatchObject(WRONG.SPF)
})

test('a record whose servers did not answer keeps its previous status, with the error', async () => {
  const domain = await add()
  await apply(domain, found(domain, SILENT))
  expect((await read(domain)).checks!.SPF).toMatchObject(SILENT.SPF)
  expect(await apply(domain, found(domain))).toBe('verified')
  nowMs += DAY
  expect(await apply(domain, found(domain, SILENT))).toBe('verified')
  const after = await read(domain)
  expect(after.checks!.SPF).toEqual({
    status: 'verified',
    observed: ['as it should be'],
    error: 'Nobody answered.',
    checked_at: new Date(nowMs).toISOString(),
  })
  expect(after.failingSince).toBeNull()
})

test('three failed days lapse a domain, and right records verify it again with its old date', async () => {
  const domain = await add()
  await apply(domain, found(domain))
  const since = nowMs
  for (nowMs += DAY; nowMs < since + 4 * DAY; nowMs += HOUR)
    expect(await apply(domain, found(domain, WRONG))).toBe('verified')
  expect(await apply(domain, found(domain, WRONG))).toBe('lapsed')
  expect(await apply(domain, found(domain))).toBe('verified')
  expect(await read(domain)).toMatchObject({ verifiedAt: new Date(since), failingSince: null })
})

test('silent servers never lapse a domain, not even one whose record was wrong before', async () => {
  const domain = await add()
  await apply(domain, found(domain))
  nowMs += DAY
  expect(await apply(domain, found(domain, WRONG))).toBe('verified')
  for (const endMs = nowMs + 4 * DAY; nowMs < endMs; nowMs += HOUR)
    expect(await apply(domain, found(domain, SILENT))).toBe('verified')
  expect((await read(domain)).checks!.SPF).toMatchObject({ status: 'failed', error: SILENT.SPF.error })
  expect(await apply(domain, found(domain, WRONG))).toBe('lapsed')
})

test('a name that another account has verified stays pending, and says so', async () => {
  const [mine, theirs] = [await add('taken.example'), await add('taken.example', accounts[1])]
  expect(await apply(theirs, found(theirs))).toBe('verified')
  expect(await apply(mine, found(mine))).toBe('pending')
  const { checks, dkimKeys } = await read(mine)
  expect(checks![`DKIM:${dkimKeys[0]!.selector}`]).toMatchObject({
    status: 'pending',
    error: expect.stringContaining('another account has verified taken.example'),
  })
  expect(checks!.SPF!.status).toBe('verified')
  await deleteDomain(db, theirs.id)
  expect(await apply(mine, found(mine))).toBe('verified')
})

test('when two accounts verify one name at the same moment, one of them gets it', async () => {
  for (let round = 0; round < 5; round++) {
    const both = [await add(`race${round}.example`), await add(`race${round}.example`, accounts[1])]
    const statuses = await Promise.all(both.map((domain) => apply(domain, found(domain))))
    expect(statuses.toSorted()).toEqual(['pending', 'verified'])
  }
})

test('a next key signs once its record is seen; until then it is looked up as often as a new domain', async () => {
  const domain = await add()
  await apply(domain, found(domain))
  nowMs += 1_000
  await makeNextDkimKey({ db, sealer, clock }, domain.id)
  const both = await read(domain)
  const next = both.dkimKeys.find(({ state }) => state === 'next')!
  const missing = { [`DKIM:${next.selector}`]: { status: 'failed' as const, observed: [], error: 'There is none.' } }
  expect(await apply(both, found(both, missing))).toBe('verified')
  // The database dates the row.
  const waiting = await read(domain)
  // A new domain is checked again within five minutes.
  expect(waiting.nextCheckAt!.getTime() - nowMs).toBeLessThanOrEqual(5 * 60_000)
  expect(waiting.failingSince).toBeNull()
  expect(await apply(both, found(both))).toBe('verified')
  const after = await read(domain)
  expect(after.dkimKeys.map(({ state }) => state)).toEqual(['retired', 'active'])
  expect(after.nextCheckAt).toEqual(new Date(nowMs + DAY))
})

test('a domain that the operator vouches for keeps its status, and shows what DNS has', async () => {
  const vouched = await createDomain(
    { db, sealer, clock },
    { accountId: accounts[0], name: 'vouched.example', status: 'verified' },
  )
  expect(await apply(vouched, found(vouched, WRONG))).toBe('verified')
  expect(await read(vouched)).toMatchObject({ nextCheckAt: null, failingSince: null, checks: WRONG })
  await changeSettings(db, vouched.id, { requiresTls: true })
  expect(await apply(vouched, found(vouched))).toBe('verified')
  expect((await read(vouched)).requiresTls).toBe(true)
})

test('the check of a deleted domain changes nothing', async () => {
  const domain = await add()
  await deleteDomain(db, domain.id)
  expect(await apply(domain, found(domain))).toBeUndefined()
})

/** A verifier whose checks take a moment. It records the checked domains, and how many ran at the same time. */
function verification(tookMs = 5, findings = found, by = clock) {
  const checked: string[] = []
  let now = 0
  const most: Record<string, number> = {}
  const running: Record<string, number> = {}
  const seen = { checked, most: 0, mostOf: most }
  const verifier = {
    async check(domain: Domain) {
      checked.push(domain.name)
      seen.most = Math.max(seen.most, ++now)
      running[domain.accountId] = (running[domain.accountId] ?? 0) + 1
      most[domain.accountId] = Math.max(most[domain.accountId] ?? 0, running[domain.accountId]!)
      await takes(tookMs)
      now--
      running[domain.accountId]!--
      return findings(domain)
    },
  }
  return { ...createDomainVerification({ db, clock: by, hosts: HOSTS, verifier }), seen }
}

const onError = (error: unknown) => {
  throw error
}
const never = new AbortController().signal
const onChange = () => {}

test('due domains are checked, the longest due first, and no others', async () => {
  const three = [await add(), await add(), await add()]
  const [first, second, later] = three as [Domain, Domain, Domain]
  const due = (domain: Domain, ago: string) =>
    db
      .update(domains)
      .set({ nextCheckAt: sql`now() - ${ago}::interval` })
      .where(eq(domains.id, domain.id))
  await due(second, '1 second')
  await due(first, '1 hour')
  await due(later, '-1 minute')
  const { verifyDue, seen } = verification()
  expect(await verifyDue({ signal: never, onChange, onError })).toEqual({ verified: 2 })
  expect(seen.checked).toEqual([first.name, second.name])
  expect(await verifyDue({ signal: never, onChange, onError })).toEqual({})
})

test('a status that a check changes is reported, one that stays is not', async () => {
  const [fine, wrong] = [await add(), await add()]
  const { verifyDue } = verification(1, (domain) => found(domain, domain.id === wrong.id ? WRONG : {}))
  const told: string[] = []
  await verifyDue({ signal: never, onChange: ({ name }, status) => told.push(`${name} ${status}`), onError })
  expect(told).toEqual([`${fine.name} verified`])
})

test('two concurrent runs check each domain once, and accounts leave as many of ten slots free as they take', async () => {
  for (let i = 0; i < 30; i++) await add(undefined, accounts[i % 2])
  await db
    .update(domains)
    .set({ nextCheckAt: sql`now() - interval '1 second'` })
    .where(sql`status = 'pending' and next_check_at is not null`)
  const runs = [verification(4_000), verification(4_000)]
  await Promise.all(runs.map(({ verifyDue }) => verifyDue({ signal: never, onChange, onError })))
  const checked = runs.flatMap(({ seen }) => seen.checked)
  expect(checked).toHaveLength(30)
  expect(new Set(checked).size).toBe(30)
  for (const { seen } of runs) {
    expect(Math.max(...Object.values(seen.mostOf))).toBe(5)
    expect(seen.most).toBeLessThan(10)
  }
})

test('a fault of ours with one domain is reported, and does not keep others from their checks', async () => {
  const [broken, whole] = [await add(), await add()]
  const faults: unknown[] = []
  const { verifyDue } = verification(1, (domain) => {
    if (domain.id === broken.id) throw new Error('out of memory')
    return found(domain)
  })
  expect(await verifyDue({ signal: never, onChange, onError: (error) => faults.push(error) })).toEqual({ verified: 1 })
  expect(faults).toEqual([new Error('out of memory')])
  expect((await read(whole)).status).toBe('verified')
  // The domain is due again in a minute.
  const { nextCheckAt } = await read(broken)
  expect(nextCheckAt!.getTime() - Date.now()).toBeGreaterThan(30_000)
})

test('an aborted run begins no further check, and stores nothing of the aborted ones', async () => {
  const many = await Promise.all(Array.from({ length: 12 }, () => add()))
  const stopping = new AbortController()
  const { verifyDue, seen } = verification(5_000)
  const run = verifyDue({ signal: stopping.signal, onChange, onError })
  await expect.poll(() => seen.checked.length, { interval: 5 }).toBe(3)
  stopping.abort()
  expect(await run).toEqual({})
  expect(seen.checked).toHaveLength(3)
  expect(new Set((await Promise.all(many.map(read))).map(({ status }) => status))).toEqual(new Set(['pending']))
})

const REAL: DatabaseClock = { now: Date.now, stop() {} }

test('a second verification within 5 s has the result of the first, also while that runs', async () => {
  const domain = await add()
  const { verifyNow, seen } = verification(50, found, REAL)
  await Promise.all([verifyNow(domain.id, domain.accountId), verifyNow(domain.id, domain.accountId)])
  expect((await read(domain)).status).toBe('verified')
  await verifyNow(domain.id, domain.accountId)
  expect(seen.checked).toHaveLength(1)
  await db.update(domains).set({ checkedAt: sql`now() - interval '6 seconds'` }).where(eq(domains.id, domain.id))
  await verifyNow(domain.id, domain.accountId)
  expect(seen.checked).toHaveLength(2)
})

test('a verification while another process checks the domain has the result of that check', async () => {
  const domain = await add()
  const [scheduled, asked] = [verification(600, found, REAL), verification(1, found, REAL)]
  const run = scheduled.verifyDue({ signal: never, onChange, onError })
  await expect.poll(() => scheduled.seen.checked.length, { interval: 5 }).toBe(1)
  await asked.verifyNow(domain.id, domain.accountId)
  expect((await read(domain)).status).toBe('verified')
  expect(asked.seen.checked).toEqual([])
  await run
})

test('a verification makes the check itself when the process died that had begun one', async () => {
  const domain = await add()
  await db.update(domains).set({ checkedAt: sql`now() - interval '4 seconds'` }).where(eq(domains.id, domain.id))
  const { verifyNow, seen } = verification(1, found, REAL)
  await verifyNow(domain.id, domain.accountId)
  expect(seen.checked).toEqual([domain.name])
  expect((await read(domain)).status).toBe('verified')
})

test('a verification is refused with rate_limit_exceeded while 40 others wait for a slot', async () => {
  const many = await Promise.all(Array.from({ length: 45 }, () => add()))
  const { verifyNow, seen } = verification(100)
  const settled = await Promise.allSettled(many.map(({ id, accountId }) => verifyNow(id, accountId)))
  const [late, ...others] = settled.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  expect([seen.checked.length, others]).toEqual([44, []])
  expect(reasonOf(late!.reason)).toBe('rate_limit_exceeded')
})

test('four verifications run at the same time, three of one account, and the others wait for a slot', async () => {
  const many = await Promise.all(Array.from({ length: 10 }, (_, i) => add(undefined, accounts[i % 2])))
  const { verifyNow, seen } = verification(200)
  await Promise.all(many.map(({ id, accountId }) => verifyNow(id, accountId)))
  expect([seen.checked.length, seen.most]).toEqual([10, 4])
  expect(Math.max(...Object.values(seen.mostOf))).toBeLessThanOrEqual(3)
})

/** Forty checks of half a second, of which four run at a time, take five seconds. */
const HALF_OF_ALL_MS = 2_500

test('however many silent domains accounts have, the domain of another one is checked at once, when due or asked for', async () => {
  const many = await Promise.all(Array.from({ length: 40 }, (_, i) => add(undefined, accounts[i % 2])))
  const third = await createAccount(db, clock, 'Three')
  const [due, asked] = [await add(undefined, third.id), await add(undefined, third.id)]
  await db.update(domains).set({ nextCheckAt: sql`now() - interval '1 hour'` }).where(eq(domains.status, 'pending'))
  await db.update(domains).set({ nextCheckAt: sql`now() - interval '1 second'` }).where(eq(domains.id, due.id))
  await db.update(domains).set({ nextCheckAt: null }).where(eq(domains.id, asked.id))
  const stopping = new AbortController()
  const scheduled = verification(4_000)
  const run = scheduled.verifyDue({ signal: stopping.signal, onChange, onError })
  await expect.poll(() => scheduled.seen.checked, { timeout: 3_000 }).toContain(due.name)
  stopping.abort()
  await run
  const now = verification(500)
  const calls = many.map(({ id, accountId }) => now.verifyNow(id, accountId))
  const settled = Promise.allSettled(calls)
  const startedMs = performance.now()
  await now.verifyNow(asked.id, third.id)
  expect(performance.now() - startedMs).toBeLessThan(HALF_OF_ALL_MS)
  await settled
})

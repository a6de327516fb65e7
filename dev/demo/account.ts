import { createKey } from '../../server/access/api-keys.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'
import type { DatabaseClock } from '../../server/db/clock.ts'
import type { Database } from '../../server/db/connect.ts'
import { and, eq } from '../../server/db/drizzle.ts'
import type { Sealer } from '../../server/db/encryption.ts'
import { members } from '../../server/db/people-schema.ts'
import { accounts, domains, warmUps } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createAccount, listAccounts } from '../../server/directory/accounts.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { MERGING_LOCK } from '../../server/reputation/merge-statistics.ts'
import { MOVING_LOCK } from '../../server/reputation/open-statistics.ts'
import { simulatedId } from '../../server/reputation/simulated.ts'
import { putFirst } from '../../server/webhooks/endpoints/change-endpoints.ts'
import { DEVELOPMENT } from '../seed.ts'
import { NEWS, type PlannedEmail, SHOP } from './week.ts'

// The account of the demo. It is separate from that of `npm start`, so that it can be removed as a whole.

export const DEMO = 'Demo'
const DAY_MS = 86_400_000

export interface DemoParts {
  db: Database
  sealer: Sealer
  clock: DatabaseClock
}

/** Creates the account with its people, domains, keys and endpoint. Returns its id and how many people can see it. */
export async function createDemoAccount({
  db,
  sealer,
  clock,
}: DemoParts): Promise<{ accountId: string; people: number }> {
  const daysAgo = (days: number) => new Date(clock.now() - days * DAY_MS)
  const { id: accountId } = await createAccount(db, clock, DEMO)
  await db
    .update(accounts)
    .set({ createdAt: daysAgo(30) })
    .where(eq(accounts.id, accountId))
  for (const [name, status, warmsUp] of DOMAINS) {
    await createDomain({ db, sealer, clock }, { accountId, name, status, warmsUp })
  }
  for (const [name, days] of VERIFIED_DAYS_AGO) {
    const isIt = and(eq(domains.accountId, accountId), eq(domains.name, name))
    await db
      .update(domains)
      .set({ verifiedAt: daysAgo(days), createdAt: daysAgo(days) })
      .where(isIt)
  }
  await putFirst({ db, sealer }, accountId, { url: ENDPOINT, events: ['email.delivery', 'email.feedback'] })
  await createKey(db, clock, { accountId, name: 'Order system', kind: 'live', scopes: ['emails.send', 'emails.read'] })
  await createKey(db, clock, { accountId, name: 'Continuous integration', kind: 'test', scopes: SCOPES_OF.test })
  const development = (await listAccounts(db)).find(({ name }) => name === DEVELOPMENT)
  if (!development) throw new Error(`There is no account ${DEVELOPMENT}.`)
  const people = await db.select().from(members).where(eq(members.accountId, development.id))
  if (people.length > 0) {
    await db.insert(members).values(people.map(({ personId, role }) => ({ accountId, personId, role })))
  }
  return { accountId, people: people.length }
}

const ENDPOINT = `https://hooks.${SHOP}/verdict`
/** The older one is warm, the younger one is in its third day. */
const VERIFIED_DAYS_AGO = [
  [SHOP, 29],
  [NEWS, 2],
] as const
const DOMAINS = [
  [SHOP, 'verified', false],
  [NEWS, 'verified', true],
  [`invoices.${SHOP}`, 'pending', true],
] as const

// The entries and strikes that the statements of sends add have the time of a default, which no search path changes.
// Their ids have the time of the event.
const TIME_OF_ID = (id: string) =>
  `to_timestamp(('x' || lpad(left(replace(${id}::text, '-', ''), 12), 16, '0'))::bit(64)::int8 / 1000.0)`
const DATE_BACK = [
  `update suppressions set created_at = ${TIME_OF_ID('id')} where account_id = $1`,
  `update refusals set created_at = ${TIME_OF_ID('event_id')} where account_id = $1`,
]

/** Gives suppressed addresses the time of the bounce or complaint that suppressed them. */
export async function dateBack({ db }: DemoParts, accountId: string): Promise<void> {
  for (const statement of DATE_BACK) await run(db, statement, [accountId])
}

/** Counts the emails of today for the warm-up of the young domain. */
export async function countWarmUp({ db, clock }: DemoParts, accountId: string, emails: readonly PlannedEmail[]) {
  const day = new Date(clock.now()).toISOString().slice(0, 10)
  const today = emails.filter(
    ({ fromDomain, sandbox, atMs }) =>
      fromDomain === NEWS && !sandbox && new Date(atMs).toISOString().slice(0, 10) === day,
  )
  await db.insert(warmUps).values({ accountId, domain: NEWS, day, emails: today.length })
}

/** The tables with an `account_id`. The audit log is kept. The triggers of history refuse updates, not deletes. */
const TABLES_OF_ACCOUNTS = `
  select table_name as name from information_schema.columns c
  join pg_class p on p.oid = to_regclass(quote_ident(c.table_name))
  where c.column_name = 'account_id' and c.table_schema = 'public' and p.relkind in ('r', 'p') and not p.relispartition
    and c.table_name <> 'audit_entries'`

/** Removes every account of an earlier demo with all its rows. Returns how many there were. */
export async function removeDemoAccounts(db: Database): Promise<number> {
  const demos = (await listAccounts(db)).filter(({ name }) => name === DEMO)
  for (const { id } of demos) {
    await db.$client.begin(async (tx) => {
      // The API adds up and merges statistics meanwhile: it would insert sums of rows that are deleted here.
      for (const lock of [MOVING_LOCK, MERGING_LOCK]) await run(tx, `select pg_advisory_xact_lock(${lock})`)
      for (const { name } of await run<{ name: string }>(tx, TABLES_OF_ACCOUNTS)) {
        await run(tx, `delete from ${name} where account_id in ($1, $2)`, [id, simulatedId(id)])
      }
      await run(tx, 'delete from accounts where id = $1', [id])
    })
  }
  return demos.length
}

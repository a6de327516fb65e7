import { domainOf } from '../../mail/address.ts'
import { and, eq } from '../../server/db/drizzle.ts'
import { domains as domainTable } from '../../server/db/schema.ts'
import { one, run } from '../../server/db/statement.ts'
import { failingEndpoints } from '../../server/webhooks/endpoints/endpoint-health.ts'
import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, firstOf, ok, onTables, skipped, warning } from './check.ts'

interface Waiting {
  waiting: number
  late: number
  oldestLateS: number | null
}

const LATE_S = 300
const VERY_LATE_S = 3_600

// An attempt that runs is not late.
const WAITING = `
  with late as (
    select due_at from open_dispatches
    where greatest(due_at, lease_until, started_at) < clock_timestamp() - interval '${LATE_S} seconds'
  )
  select (select count(*)::int from open_dispatches) as waiting, count(*)::int as late,
    extract(epoch from clock_timestamp() - min(due_at))::float8 as "oldestLateS"
  from late`

const backlog: DoctorCheck = {
  name: 'backlog',
  about: 'no webhook waits longer than 5 minutes for an attempt that is due',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    return backlogFinding(one(await run<Waiting>(db, WAITING)))
  }),
}

export function backlogFinding({ waiting, late, oldestLateS }: Waiting): CheckFinding {
  if (oldestLateS === null)
    return ok(waiting === 0 ? 'nothing waits' : `${waiting} wait for their next attempt, none is late`)
  const minutes = Math.floor(oldestLateS / 60)
  const seen = `${late} of ${waiting} webhooks are late, the oldest by ${minutes} minutes`
  const wayOut = 'Run more workers (npm run worker), and check Temporal and their log.'
  return oldestLateS >= VERY_LATE_S ? failure(seen, wayOut) : warning(seen, wayOut)
}

const endpoints: DoctorCheck = {
  name: 'endpoints',
  about: 'no webhook endpoint has failed for more than an hour',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const failing = await failingEndpoints(db)
    if (failing.length === 0) return ok('none has failed for more than an hour')
    const hosts = [...new Set(failing.map(({ url }) => new URL(url).host))]
    return warning(
      `${failing.length} have acknowledged nothing for more than an hour: ${firstOf(hosts)}`,
      'Tell their owners. Attempts end after about 7.5 hours; afterwards the events can be replayed.',
    )
  }),
}

interface DomainCounts {
  verified: number
  others: number
  /** The names of domains that were verified and are not any more, or will not be soon. */
  troubled: string[] | null
  /** Domains whose check is 15 minutes late. */
  unchecked: number
}

const STANDING = `
  select count(*) filter (where status = 'verified')::int as verified,
    count(*) filter (where status <> 'verified')::int as others,
    json_agg(name order by name)
      filter (where status = 'lapsed' or (status = 'verified' and failing_since is not null)) as troubled,
    count(*) filter (where next_check_at < clock_timestamp() - interval '15 minutes')::int as unchecked
  from domains`

const domains: DoctorCheck = {
  name: 'domains',
  about: 'every domain that was verified still is, and DNS is checked in time',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const { verified, others, troubled, unchecked } = one(await run<DomainCounts>(db, STANDING))
    if (troubled)
      return warning(
        `DNS no longer has the records of ${firstOf(troubled)}: mail from them will be refused, or is already`,
        `See what is missing: verdict domains show ${troubled[0]}`,
      )
    if (unchecked > 0)
      return warning(
        `${unchecked} were to be checked in DNS more than 15 minutes ago`,
        'Look at the Schedule "verification" in Temporal, and at the log of the worker.',
      )
    return ok(`${verified} verified, ${others} not yet`)
  }),
}

const notifyFrom: DoctorCheck = {
  name: 'notify_from',
  about: 'the domain of `NOTIFY_FROM` is verified in an account',
  reads: ['DATABASE_URL', 'NOTIFY_FROM'],
  run: onTables(async (db, { config }) => {
    const address = config.notifyFrom
    if (!address)
      return skipped(
        'NOTIFY_FROM is not set: the service mails no notifications, no invitations and no links for new passwords',
      )
    const name = domainOf(address)
    const isVerified = and(eq(domainTable.name, name), eq(domainTable.status, 'verified'))
    if ((await db.$count(domainTable, isVerified)) > 0) return ok(`${name} is verified`)
    return failure(
      `${name} is verified in no account: the service retries its own mails for up to a day, and then gives them up`,
      `Add and verify it: verdict domains add ${name}. Or choose an address of a verified domain.`,
    )
  }),
}

export const MAIL_CHECKS = [backlog, endpoints, domains, notifyFrom]

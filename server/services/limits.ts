import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { accountOf } from '../caller.ts'
import { REQUEST_LIMITS, tierOf } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import { accounts } from '../db/schema.ts'
import { inMs, one, run } from '../db/statement.ts'
import { SENT } from '../reputation/counts.ts'
import { monthOf } from '../reputation/quota.ts'
import { simulatedIdOf } from '../reputation/simulated.ts'
import { warmUpDay } from '../reputation/warm-up.ts'
import { MESSAGE_LIMITS } from '../sending/message.ts'
import type { Backend } from './backend.ts'

const SIZES = {
  requestBytes: REQUEST_LIMITS.bytes,
  htmlBytes: MESSAGE_LIMITS.bodyBytes,
  textBytes: MESSAGE_LIMITS.bodyBytes,
  attachmentsBytes: MESSAGE_LIMITS.attachmentBytes,
  subjectCharacters: MESSAGE_LIMITS.subjectCharacters,
  headerValueCharacters: MESSAGE_LIMITS.headerValueCharacters,
  tenantIdCharacters: MESSAGE_LIMITS.tenantIdCharacters,
  metadataBytes: MESSAGE_LIMITS.metadataBytes,
  metadataKeyCharacters: MESSAGE_LIMITS.metadataKeyCharacters,
  metadataValueCharacters: MESSAGE_LIMITS.metadataValueCharacters,
  tagCharacters: MESSAGE_LIMITS.tagCharacters,
  filenameCharacters: MESSAGE_LIMITS.filenameCharacters,
}

const COUNTS = {
  recipients: MESSAGE_LIMITS.recipients,
  attachments: MESSAGE_LIMITS.attachments,
  headers: MESSAGE_LIMITS.headers,
  batchEmails: REQUEST_LIMITS.batchEmails,
  importAddresses: REQUEST_LIMITS.importAddresses,
  replyTo: MESSAGE_LIMITS.replyTo,
  metadataPairs: MESSAGE_LIMITS.metadataPairs,
}

export function createLimitsService({ db, limits }: Pick<Backend, 'db' | 'limits'>): ServiceImpl<typeof LimitsService> {
  return {
    async getLimits(_, context) {
      const accountId = accountOf(context)
      const account = one(await db.select({ tier: accounts.tier }).from(accounts).where(eq(accounts.id, accountId)))
      const { name, requestsPerMinute, emailsPerMonth } = tierOf(limits, account.tier)
      const domains = await volumes(db, accountId, limits.warmUp)
      const month = await usageOf(db, accountId, emailsPerMonth)
      return { tier: name, requestsPerMinute, sizes: SIZES, counts: COUNTS, domains, month }
    },
  }
}

interface Usage {
  /** The database's time, in Unix milliseconds. */
  now: number
  /** Emails counted for a quota; null when there is none yet. */
  counted: number | null
  sent: number
  domains: { domain: string; sent: number; simulated: number }[]
}

const MOST_DOMAINS = 100

const USAGE = `
  with domain as (
    select domain, (sum(${SENT}) filter (where account_id = $1))::int4 as sent,
      (sum(${SENT}) filter (where account_id <> $1))::int4 as simulated
    from hourly_stats
    where account_id in ($1, ${simulatedIdOf('$1::uuid')}) and tenant_id = '' and hour >= date_trunc('month', now(), 'UTC')
    group by domain having sum(${SENT}) > 0
  ),
  largest as (
    select domain, coalesce(sent, 0) as sent, coalesce(simulated, 0) as simulated from domain
    order by 2 desc, 3 desc, 1 limit ${MOST_DOMAINS}
  )
  select ${inMs('now()')} as now,
    (select emails from monthly_emails
      where account_id = $1 and month = date_trunc('month', now() at time zone 'UTC')::date) as counted,
    coalesce((select sum(sent) from domain), 0)::int4 as sent,
    coalesce((select json_agg(l order by l.sent desc, l.simulated desc, l.domain) from largest l), '[]') as domains`

/** Reads the account's usage of the current UTC month, by the database's clock. */
async function usageOf(db: Database, accountId: string, quota: number | undefined) {
  const { now, counted, sent, domains } = one(await run<Usage>(db, USAGE, [accountId]))
  const { month: from, endsAtMs } = monthOf(now)
  return { from, endsAt: timestampFromMs(endsAtMs), quota, used: quota === undefined ? sent : (counted ?? 0), domains }
}

interface Volume {
  name: string
  /** Unix milliseconds. */
  verifiedAt: number | null
  warmsUp: boolean
  /** The emails admitted today while the domain warms up. */
  warmingUp: number
  /** The emails recorded today. */
  recorded: number
  /** The database's time, in Unix milliseconds. */
  now: number
}

const VOLUMES = `
  with recorded as (
    select domain, sum(${SENT})::int4 as emails from hourly_stats
    where account_id = $1 and tenant_id = '' and hour >= date_trunc('day', now(), 'UTC')
    group by domain
  )
  select d.name, ${inMs('d.verified_at')} as "verifiedAt", d.warms_up as "warmsUp",
    coalesce(w.emails, 0) as "warmingUp", coalesce(r.emails, 0) as recorded,
    ${inMs('now()')} as now
  from domains d
  left join warm_ups w on w.account_id = d.account_id and w.domain = d.name and w.day = (now() at time zone 'UTC')::date
  left join recorded r on r.domain = d.name
  where d.account_id = $1
  order by d.name`

/** Reads what each domain may send and has sent today, the UTC day by the database's clock. */
async function volumes(db: Database, accountId: string, steps: readonly number[]) {
  const rows = await run<Volume>(db, VOLUMES, [accountId])
  return rows.map(({ now, ...row }) => {
    const verifiedAt = row.verifiedAt === null ? null : new Date(row.verifiedAt)
    const warmUp = warmUpDay({ verifiedAt, warmsUp: row.warmsUp }, now, steps)
    return {
      domain: row.name,
      dailyLimit: warmUp?.dailyLimit,
      sentToday: warmUp ? row.warmingUp : row.recorded,
    }
  })
}

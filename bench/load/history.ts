import postgres from 'postgres'
import { firstIdAt } from '../../server/db/ids.ts'

const DAYS = 30
const DAY_MS = 86_400_000
/** Days that are filled at the same time, each over its own connection. */
const LANES = 2

/** What the filters of a list find in the history of `big` and of `quiet`. The rare rows are of the oldest day. */
export const STORED = {
  domains: { common: 'example.com', some: 'news.example.com', rare: 'rare.example.com' },
  tags: { some: 'tag-3', rare: 'rare' },
  /** A tag that is used with `domains.some` alone. */
  newsletter: 'newsletter',
  tenants: { some: 'tenant-7', rare: 'rare' },
  recipients: { common: 'Ops@to.example', some: 'user7@to.example', rare: 'rare@to.example' },
} as const

interface History {
  /** How many messages, over 30 days. Each has one event for each recipient. */
  messages: number
  /** Half of the messages are of this account; the other half is of 50 others. */
  big: string
  /** This account has 1 % of the messages, all delivered but one of the oldest day. */
  quiet: string
  /** Which tables to fill. */
  tables: ('messages' | 'recipients' | 'events')[]
}

/**
 * Fills the partitions of the last 30 days, today included, which must be empty. Each is loaded without indexes and
 * then attached, which creates them.
 */
export async function fillHistory(databaseUrl: string, history: History): Promise<void> {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const days = Array.from({ length: DAYS }, (_, day) => day)
  const perDay = Math.ceil(history.messages / DAYS)
  const lane = async () => {
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
    await sql`set synchronous_commit = off`
    await sql`set maintenance_work_mem = '256MB'`
    for (let day = days.shift(); day !== undefined; day = days.shift()) {
      const start = today - (DAYS - 1 - day) * DAY_MS
      const lengthMs = Math.min(DAY_MS, Date.now() - start)
      const step = { first: day * perDay, count: perDay, start, stepMs: lengthMs / perDay, isOldest: day === 0 }
      for (const table of history.tables) await fillDay(sql, table, start, rowsOf(table, history, step))
      console.log(`day ${day + 1} of ${DAYS} is filled`)
    }
    await sql.end()
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

async function fillDay(sql: postgres.Sql, table: string, start: number, rows: string): Promise<void> {
  const name = `${table}_${new Date(start).toISOString().slice(0, 10).replaceAll('-', '')}`
  await sql.unsafe(`drop table if exists ${name}`)
  await sql.unsafe(`create table ${name} (like ${table} including defaults including constraints)`)
  await sql.unsafe(`insert into ${name} ${rows}`)
  const bounds = `from ('${firstIdAt(start)}') to ('${firstIdAt(start + DAY_MS)}')`
  await sql.unsafe(`alter table ${table} attach partition ${name} for values ${bounds}`)
  await sql.unsafe(`vacuum (analyze) ${name}`)
}

interface Step {
  /** The number of the day's first message. */
  first: number
  count: number
  /** Unix milliseconds of the day's first message, and between two of them. */
  start: number
  stepMs: number
  isOldest: boolean
}

/** The UUIDv7 of the message `i`, or of the event of its recipient `n`. */
const idOf = (kind: string) =>
  `(lpad(to_hex(at), 12, '0') || '7' || substr(md5(i || '-' || ${kind}), 1, 3) || '8' || substr(md5(i || '-' || ${kind}), 4, 15))::uuid`

/** The message `i`. Every column is a function of `i`, so each table can be filled by itself. */
function messagesOf({ big, quiet }: History, { first, count, start, stepMs, isOldest }: Step): string {
  const random = (salt: number, below: number) => `(hashint8(i * 31 + ${salt})::int8 & 2147483647) % ${below}`
  // The first messages of the oldest day are the rare ones of the big account.
  const rare = (from: number, otherwise: string, value: string) =>
    isOldest
      ? `case when i % 2 = 0 and k >= ${from} and k < ${from + 120} then ${value} else ${otherwise} end`
      : otherwise
  const { domains, tags, newsletter, tenants, recipients } = STORED
  return `
    select i, at, ${idOf("'m'")} as id, account_id, domain, tenant_id, sandbox, email, status,
      case when tagged < 400 then null
        when domain = '${domains.some}' and tagged < 900 then '${newsletter}'
        else ${rare(600, `'tag-' || tagged % 20`, `'${tags.rare}'`)} end as tag,
      case when status = 'delivered' then null
        when status = 'bounced' then (array['mailbox_full', 'mailbox_does_not_exist', 'no_mx_record',
          'connection_timeout', 'policy_block', 'temporary_failure'])[1 + ${random(1, 6)}]
        else ${rare(0, `(array['suppression_list', 'invalid_address'])[1 + ${random(2, 2)}]`, `'domain_not_verified'`)}
      end as reason
    from (
      select k, ${first} + k as i, ${start} + floor(k * ${stepMs})::int8 as at from generate_series(0, ${count - 1}) as k
    ) as number
    cross join lateral (
      select
        case when i % 100 = 1 then '${quiet}'::uuid when i % 2 = 0 then '${big}'::uuid
          else md5('account' || ${random(3, 50)})::uuid end as account_id,
        case when i % 100 = 1 then ${isOldest ? `case when k < 100 then 'bounced' else 'delivered' end` : `'delivered'`}
          when ${rare(0, 'false', 'true')} then 'rejected'
          when ${random(4, 1000)} < 960 then 'delivered'
          when ${random(4, 1000)} < 990 then 'bounced' else 'rejected' end as status,
        ${rare(
          200,
          `case when ${random(5, 1000)} < 700 then '${domains.common}'
            when ${random(5, 1000)} < 900 then 'example.org'
            when ${random(5, 1000)} < 990 then 'mail.example.com' else '${domains.some}' end`,
          `'${domains.rare}'`,
        )} as domain,
        ${random(6, 1000)} as tagged,
        case when ${random(7, 5)} > 0 then ${rare(400, `'tenant-' || ${random(8, 1000)}`, `'${tenants.rare}'`)} end
          as tenant_id,
        ${random(9, 50)} = 0 as sandbox,
        ${rare(
          800,
          `case when ${random(10, 100)} = 0 then '${recipients.common}'
            else 'user' || ${random(11, 2_000_000)} || '@to.example' end`,
          `'${recipients.rare}'`,
        )} as email
    ) as one`
}

/** Every twentieth message has three recipients. */
const RECIPIENTS = `cross join lateral generate_series(0, case when i % 20 = 0 then 2 else 0 end) as n`
const ADDRESS = `case when n = 0 then email else 'more' || n || '-' || i || '@to.example' end`
const SMTP = `'{"mx":"mx.to.example","ip":"192.0.2.1","code":250,"enhanced":"2.0.0","reply":"2.0.0 Ok: queued as 4Xh2Qd3kz1z9rXt","phase":"SMTP_PHASE_DOT","tls":{"version":"TLSv1.3","verified":true},"duration_ms":412}'`

function rowsOf(table: History['tables'][number], history: History, step: Step): string {
  const from = `from (${messagesOf(history, step)}) as m`
  const time = `to_timestamp(at / 1000.0)`
  switch (table) {
    case 'messages':
      return `
        (id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes, digest, created_at,
          completed_at, request)
        select id, account_id, status, reason, sandbox, tenant_id, 'eu', domain, tag, 2318, sha256(id::text::bytea),
          ${time}, ${time} + interval '400 ms',
          json_build_object('from', 'Shop <hello@' || domain || '>', 'to', json_build_array(email), 'subject',
            'Your order ' || i || ' has been shipped', 'headers', json_build_array(), 'attachments', json_build_array(),
            'metadata', json_build_object('order', i::text, 'customer', 'customer-' || i % 5000), 'tag', tag)
        ${from}`
    case 'recipients':
      return `
        (message_id, account_id, position, event_id, email, kind, status, reason, retryable, in_doubt, smtp)
        select id, account_id, n, ${idOf('n')}, ${ADDRESS}, case when n = 0 then 'to' else 'cc' end, status, reason,
          false, false, case when status <> 'rejected' then ${SMTP}::json end
        ${from} ${RECIPIENTS}`
    case 'events':
      return `
        (id, message_id, account_id, event, status, reason, recipient, tenant_id, sandbox, tag, metadata, feedback,
          created_at)
        select ${idOf('n')}, id, account_id,
          case when i % 1000 = 6 and status = 'delivered' then 'email.feedback' else 'email.delivery' end,
          status, reason, ${ADDRESS}, tenant_id, sandbox, tag, json_build_object('order', i::text),
          case when i % 1000 = 6 and status = 'delivered' then 'complaint' end, ${time}
        ${from} ${RECIPIENTS}`
  }
}

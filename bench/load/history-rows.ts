import { SEND_COUNTS } from '../../server/reputation/counts.ts'

/** What the filters of a list find in the history of `big` and of `quiet`. The rare rows are of the oldest day. */
export const STORED = {
  domains: { common: 'example.com', some: 'news.example.com', rare: 'rare.example.com' },
  tags: { some: 'tag-3', rare: 'rare' },
  /** A tag that is used with `domains.some` alone. */
  newsletter: 'newsletter',
  tenants: { some: 'tenant-7', rare: 'rare' },
  recipients: { common: 'Ops@to.example', some: 'user7@to.example', rare: 'rare@to.example' },
} as const

export interface Owners {
  /** Half of the messages are of this account; the other half is of 198 others and the quiet one. */
  big: string
  /** This account has 1 % of the messages, all delivered but those of the oldest day's start. */
  quiet: string
}

export type Table = 'messages' | 'recipients' | 'events' | 'dispatches' | 'attempts'

/** The messages of a day. */
export interface Day {
  /** The number of the day's first message. */
  first: number
  count: number
  /** Unix milliseconds of the day's first message, and between two of them. */
  start: number
  stepMs: number
  isOldest: boolean
}

const OTHER_ACCOUNTS = 198

/** The UUIDv7 of the message `i`, or of the event of its recipient `n`. */
const idOf = (kind: string) =>
  `(lpad(to_hex(at), 12, '0') || '7' || substr(md5(i || '-' || ${kind}), 1, 3) || '8' || substr(md5(i || '-' || ${kind}), 4, 15))::uuid`

/** The message `i`. Every column is a function of `i`, so each table can be filled by itself. */
function messagesOf({ big, quiet }: Owners, { first, count, start, stepMs, isOldest }: Day): string {
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
          else md5('account' || ${random(3, OTHER_ACCOUNTS)})::uuid end as account_id,
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

/** The rows of a table, for an `insert into`. */
export function rowsOf(table: Table, owners: Owners, day: Day): string {
  const from = `from (${messagesOf(owners, day)}) as m`
  const time = `to_timestamp(at / 1000.0)`
  switch (table) {
    case 'messages':
      return `
        (id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes, digest, created_at,
          completed_at, request)
        select id, account_id, status, reason, sandbox, tenant_id, 'eu', domain, tag, 2318, sha256(id::text::bytea),
          ${time}, ${time} + interval '400 ms',
          json_build_object('from', 'Shop <hello@' || domain || '>', 'to', json_build_array(email), 'subject',
            case i % 10 when 4 then 'ご注文' || i || 'の商品を発送いたしました'
              else 'Your order ' || i || ' has been shipped' end,
            'headers', json_build_array(), 'attachments', json_build_array(),
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
    case 'dispatches':
      return `
        (id, event_id, message_id, account_id, endpoint_id, kind, state, created_at, ended_at)
        select ${idOf('n')}, ${idOf('n')}, id, account_id, md5(account_id::text)::uuid, 'original', 'acknowledged', ${time},
          ${time} + interval '30 ms'
        ${from} ${RECIPIENTS} where not sandbox`
    case 'attempts':
      return `
        (dispatch_id, account_id, number, started_at, finished_at, outcome, status_code, phases, excerpt)
        select ${idOf('n')}, account_id, 1, ${time}, ${time} + interval '25 ms', 'acked', 200, '{"head":24,"body":1}'::json, 'ok'
        ${from} ${RECIPIENTS} where not sandbox`
  }
}

/** Counts a day's messages by the hour, for whole domains and for one tenant. */
export function statisticsOf(owners: Owners, day: Day): string {
  const hour = `date_trunc('hour', to_timestamp(at / 1000.0), 'UTC')`
  return `
    insert into hourly_stats (account_id, tenant_id, hour, domain, ${SEND_COUNTS.map(({ column }) => column).join(', ')})
    select account_id, tenant, ${hour}, domain,
      ${SEND_COUNTS.map(({ condition }) => `count(*) filter (where ${condition})`).join(', ')}
    from (select *, false as in_doubt, 12 as bucket from (${messagesOf(owners, day)}) as m ${RECIPIENTS}) as email
    cross join lateral (
      select '' as tenant union all select tenant_id where tenant_id = '${STORED.tenants.some}'
    ) as counted
    where not sandbox group by account_id, tenant, 3, domain`
}

import type { JsonValue } from '@bufbuild/protobuf'
import type { Database } from '../db/connect.ts'
import { firstIdAt } from '../db/ids.ts'
import { inMs, one, run } from '../db/statement.ts'
import { mailboxProvider } from './mailbox-provider.ts'

// A mailbox provider that refuses an account: of what the account sent to it within the last hour, half or more was
// blocked by policy.

export const REFUSING_MINUTES = 60
const LEAST_OUTCOMES = 20
/** The newest blocked emails that are searched for a reply of the provider. */
const LOOKED_AT = 100

// The simulator and the mails of the house count for accounts that are not in `accounts`.
const CHANGES = `
  with counted as materialized (
    select account_id, provider, sum(outcomes) as outcomes, sum(policy_blocks) as blocked
    from provider_minutes join (
      select distinct account_id, provider from provider_minutes
      where policy_blocks > 0 and minute > now() - interval '${REFUSING_MINUTES} minutes'
    ) as blocking using (account_id, provider)
    where minute > now() - interval '${REFUSING_MINUTES} minutes'
    group by account_id, provider
  ),
  refusing as materialized (select * from counted where blocked * 2 >= outcomes),
  ended as (
    update refusing_providers r set ended_at = now()
    where ended_at is null
      and not exists (select from refusing c where c.account_id = r.account_id and c.provider = r.provider)
  )
  insert into refusing_providers (id, account_id, provider, began_at)
  select gen_random_uuid(), c.account_id, provider, now() from refusing c join accounts a on a.id = c.account_id
  where outcomes >= ${LEAST_OUTCOMES}
  on conflict (account_id, provider) where ended_at is null do nothing`

/** Only one process looks at a time. */
const LOCK = `select pg_try_advisory_xact_lock(hashtext('verdict refusing providers')) as "isMine"`

/** Looks which providers begin to refuse an account, and which no longer do. */
export async function findRefusingProviders(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    const { isMine } = one(await run<{ isMine: boolean }>(tx, LOCK))
    if (isMine) await run(tx, CHANGES)
  })
}

/** A provider that refuses an account. */
export interface RefusingProvider {
  /** As in mailbox-provider.ts. */
  provider: string
  /** Unix milliseconds. */
  sinceMs: number
  /** Emails of the last hour that were delivered or bounced, and how many of them were blocked by policy. */
  emails: number
  blocked: number
  newest?: NewestRefusal
}

/** The newest refusal of a provider in the last hour. */
export interface NewestRefusal {
  /** UUID. */
  messageId: string
  /** The server's own words. */
  reply: string
  /** Which of our addresses or hosts the reply names, or else the domain of From. Empty when it names none of them. */
  names: string
}

const REFUSING = `
  select r.provider, ${inMs('r.began_at')} as "sinceMs",
    coalesce(sum(m.outcomes), 0)::int as emails, coalesce(sum(m.policy_blocks), 0)::int as blocked
  from refusing_providers r left join provider_minutes m on m.account_id = r.account_id and m.provider = r.provider
    and m.minute > now() - interval '${REFUSING_MINUTES} minutes'
  where r.account_id = $1 and r.ended_at is null
  group by r.id order by r.began_at, r.provider`

const BLOCKED = `
  select r.message_id as "messageId", r.smtp, m.domain
  from (
    select id, message_id from events where account_id = $1 and reason = 'policy_block' and id >= $2
    order by id desc limit ${LOOKED_AT}
  ) as e
  join recipients r on r.message_id = e.message_id and r.event_id = e.id
  join messages m on m.id = e.message_id
  order by e.id desc`

interface Blocked {
  messageId: string
  smtp: JsonValue
  domain: string
}

/** Reads which providers refuse an account, the longest first. `ours`: addresses and hosts that mail leaves from. */
export async function readRefusingProviders(
  db: Database,
  { accountId, nowMs, ours }: { accountId: string; nowMs: number; ours: readonly string[] },
): Promise<RefusingProvider[]> {
  const refusing = await run<RefusingProvider>(db, REFUSING, [accountId])
  if (refusing.length === 0) return []
  const since = firstIdAt(nowMs - REFUSING_MINUTES * 60_000)
  const blocked = await run<Blocked>(db, BLOCKED, [accountId, since])
  return refusing.map((provider) => ({ ...provider, newest: newestOf(provider.provider, blocked, ours) }))
}

function newestOf(provider: string, blocked: readonly Blocked[], ours: readonly string[]): NewestRefusal | undefined {
  for (const { messageId, smtp, domain } of blocked) {
    const { mx, reply } = (smtp ?? {}) as { mx?: string; reply?: string }
    if (reply && mailboxProvider(mx) === provider) return { messageId, reply, names: namedIn(reply, [...ours, domain]) }
  }
  return undefined
}

/** The first of our names that is a whole word of a reply. */
function namedIn(reply: string, names: readonly string[]): string {
  const words = new Set(reply.toLowerCase().match(/[\p{L}\p{N}_-]+(?:[.:]+[\p{L}\p{N}_-]+)*/gu))
  return names.find((name) => words.has(name.toLowerCase())) ?? ''
}

/** What a bounce, or a complaint, says against its address. */
export type Strike = 'hard' | 'mailbox' | 'full' | 'complaint'

interface StrikeRule {
  /** At which strike within seven days the address is suppressed. */
  at: number
  /** For how long; null is for good. */
  days: number | null
  reason: 'bounce' | 'complaint'
}

const STRIKES: Record<Strike, StrikeRule> = {
  hard: { at: 1, days: null, reason: 'bounce' },
  mailbox: { at: 2, days: null, reason: 'bounce' },
  full: { at: 3, days: 7, reason: 'bounce' },
  complaint: { at: 1, days: null, reason: 'complaint' },
}

const HARD_STATUS = /^5\.1\.(1|3|6|10)$/

/**
 * What a bounce for this reason (its word) says against its address: nothing when its status (RFC 3463) is one of a policy (5.7.x),
 * whatever its words.
 */
export function strikeOfBounce(
  reason: string,
  { enhanced = '', saysUserUnknown }: { enhanced?: string; saysUserUnknown: boolean },
): Strike | null {
  if (reason === 'mailbox_full') return 'full'
  if (reason !== 'mailbox_does_not_exist' || enhanced.startsWith('5.7.')) return null
  return HARD_STATUS.test(enhanced) || (enhanced !== '5.2.1' && saysUserUnknown) ? 'hard' : 'mailbox'
}

const rules = Object.entries(STRIKES)
const rule = ([strike, { at, days, reason }]: [string, StrikeRule]) =>
  `('${strike}', ${at}, ${days === null ? 'null' : `interval '${days} days'`}, '${reason}')`
/** Those that count only when they repeat. */
const REPEATED = rules.flatMap(([strike, { at }]) => (at > 1 ? `'${strike}'` : [])).join(', ')

/**
 * How strikes suppress an address, in the commit that keeps what they come from. It expects the CTEs `message` and `outcome` of a
 * statement that ends sends, the outcome with `strike` (null, or a word of STRIKES) and `strike_email`, the address as it is matched.
 * A message strikes an address once, even when it was sent to several spellings of it.
 */
export const INTO_SUPPRESSIONS = `
  struck as (
    select *, row_number() over (partition by account_id, tenant_id, email, strike order by event_id) as nth
    from (
      select distinct on (o.message_id, o.strike_email, o.strike)
        o.event_id, o.message_id, m.account_id, coalesce(m.tenant_id, '') as tenant_id, o.strike_email as email, o.strike,
        coalesce(o.smtp ->> 'reply', o.reason) as detail
      from outcome o join message m on m.id = o.message_id where o.strike is not null
      order by o.message_id, o.strike_email, o.strike, o.event_id
    ) as once
  ),
  kept_strikes as (
    insert into suppression_strikes (event_id, account_id, tenant_id, email, kind)
    select event_id, account_id, tenant_id, email, strike from struck where strike in (${REPEATED})
  ),
  suppressed as (
    insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, expires_at)
    select distinct on (s.account_id, s.email, s.tenant_id)
      s.event_id, s.account_id, s.tenant_id, s.email, rule.reason, s.message_id, s.detail, now() + rule.lasts
    from struck s join (values ${rules.map(rule).join(', ')}) as rule(strike, at, lasts, reason) on rule.strike = s.strike
    where rule.at <= s.nth + (
      select count(*) from suppression_strikes k
      where k.account_id = s.account_id and k.email = s.email and k.tenant_id = s.tenant_id and k.kind = s.strike
        and k.created_at > now() - interval '7 days')
    order by s.account_id, s.email, s.tenant_id, rule.lasts nulls first
    on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
      message_id = excluded.message_id, detail = excluded.detail, created_at = now(), expires_at = excluded.expires_at
    where kept.expires_at is not null
  )`

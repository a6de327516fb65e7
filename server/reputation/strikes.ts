// How bounces suppress an address, in the same commit as history. It expects the CTEs `message` and `outcome` of a statement that
// ends sends, the outcome with `strike` (null, or a word of STRIKES) and `strike_email`, the address as it is matched.

/** What a bounce says against its address. */
export type Strike = 'hard' | 'mailbox' | 'full'

/** At which strike within seven days an address is suppressed, and for how long: null is for good. */
const STRIKES: Record<Strike, { at: number; days: number | null }> = {
  hard: { at: 1, days: null },
  mailbox: { at: 2, days: null },
  full: { at: 3, days: 7 },
}

const rule = (strike: Strike, { at, days }: { at: number; days: number | null }) =>
  `('${strike}', ${at}, ${days === null ? 'null' : `interval '${days} days'`})`

export const INTO_SUPPRESSIONS = `
  struck as (
    select o.event_id, o.message_id, m.account_id, coalesce(m.tenant_id, '') as tenant_id, o.strike_email as email, o.strike,
      coalesce(o.smtp ->> 'reply', o.reason) as detail,
      row_number() over (partition by m.account_id, m.tenant_id, o.strike_email, o.strike order by o.event_id) as nth
    from outcome o join message m on m.id = o.message_id where o.strike is not null
  ),
  kept_strikes as (
    insert into suppression_strikes (event_id, account_id, tenant_id, email, kind)
    select event_id, account_id, tenant_id, email, strike from struck where strike <> 'hard'
  ),
  suppressed as (
    insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, expires_at)
    select distinct on (s.account_id, s.email, s.tenant_id)
      s.event_id, s.account_id, s.tenant_id, s.email, 'bounce', s.message_id, s.detail, now() + rule.lasts
    from struck s join (values ${Object.entries(STRIKES)
      .map(([strike, at]) => rule(strike as Strike, at))
      .join(', ')}) as rule(strike, at, lasts) on rule.strike = s.strike
    where rule.at <= s.nth + (
      select count(*) from suppression_strikes k
      where k.account_id = s.account_id and k.email = s.email and k.tenant_id = s.tenant_id and k.kind = s.strike
        and k.created_at > now() - interval '7 days')
    order by s.account_id, s.email, s.tenant_id, rule.lasts nulls first
    on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
      message_id = excluded.message_id, detail = excluded.detail, created_at = now(), expires_at = excluded.expires_at
    where kept.expires_at is not null
  )`

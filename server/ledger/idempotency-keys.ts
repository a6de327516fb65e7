/**
 * SQL: the CTE `taken_key`, which takes the idempotency keys of the sends in the CTE `sends` and returns the messages
 * that have theirs. An expired key is taken over in place.
 */
export const takeKeysOf = (sends: string): string => `
  taken_key as (
    insert into idempotency_keys as kept (account_id, scope, key, message_id, request_hash, expires_at)
    select distinct on (account_id, key_scope, key)
      account_id, key_scope, key, id, decode(request_hash, 'hex'), now() + interval '24 hours'
    from ${sends} where key is not null order by account_id, key_scope, key, id
    on conflict (account_id, scope, key) do update
    set message_id = excluded.message_id, request_hash = excluded.request_hash, expires_at = excluded.expires_at
    where kept.expires_at <= now()
    returning message_id
  )`

/**
 * SQL: the CTEs that free the keys and the retries of the messages in the CTE `released`, and return what they had
 * taken of a warm-up and of a quota. They lock in the order of the claims: the warm-up, the quota, the keys, the
 * retries. The counts keep it.
 */
export const GIVE_BACK = `
  returned_share as (
    update warm_ups w set emails = w.emails - r.emails
    from (
      select account_id, domain, warm_up_day as day, sum(warm_up_emails) as emails from released
      where warm_up_day is not null group by 1, 2, 3 order by 1, 2, 3
    ) r
    where w.account_id = r.account_id and w.domain = r.domain and w.day = r.day
    returning true
  ),
  returned_quota as (
    update monthly_emails m set emails = m.emails - r.emails
    from (
      select account_id, quota_month as month, sum(quota_emails) as emails from released
      where quota_month is not null group by 1, 2 order by 1, 2
    ) r
    where (select count(*) from returned_share) >= 0 and m.account_id = r.account_id and m.month = r.month
    returning true
  ),
  freed_key as (
    delete from idempotency_keys k
    using (select account_id, key_scope, key, id from released order by 1, 2, 3) r
    where (select count(*) from returned_quota) >= 0
      and k.account_id = r.account_id and k.scope = r.key_scope and k.key = r.key and k.message_id = r.id
    returning true
  ),
  freed_retry as (
    delete from retries t using released r
    where (select count(*) from freed_key) >= 0 and t.message_id = r.id
    returning true
  ),
  freed_recipient_key as (
    delete from recipient_keys k using released r
    where (select count(*) from freed_retry) >= 0 and k.message_id = r.id
  )`

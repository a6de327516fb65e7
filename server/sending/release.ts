import type { Database } from '../db/connect.ts'

// Locks in the order of the claims: the warm-up, which is counted so that it goes first, then the keys, each sorted.

/** Frees the keys of the messages in the CTE `released`, and gives back what they had taken of a warm-up. */
export const GIVES_BACK = `
  given_back as (
    update warm_ups w set emails = w.emails - r.emails
    from (
      select account_id, domain, warm_up_day as day, sum(warm_up_emails) as emails from released
      where warm_up_day is not null group by 1, 2, 3 order by 1, 2, 3
    ) r
    where w.account_id = r.account_id and w.domain = r.domain and w.day = r.day
    returning true
  ),
  freed as (
    delete from idempotency_keys k
    using (select account_id, key_scope, key, id from released order by 1, 2, 3) r
    where (select count(*) from given_back) >= 0
      and k.account_id = r.account_id and k.scope = r.key_scope and k.key = r.key and k.message_id = r.id
  )`

// One statement: no lock waits for this process to say its next word.
const RELEASE = `
  with message as (
    select id from open_messages where id = $1 and claim = $2 for update
  ),
  recipient as (
    select marked_at from open_recipients where message_id in (select id from message) for update
  ),
  released as (
    delete from open_messages where id in (select id from message)
      and not exists (select from recipient where marked_at is not null)
    returning *
  ),
  released_recipient as (
    delete from open_recipients where message_id in (select id from released)
  ),
  ${GIVES_BACK}
  select id from released`

/**
 * Release, for a fault of ours after the claim and before any marker: the message goes as if the request had never come, and with
 * it its key and its share of a warm-up. False, and nothing is changed, when a marker is set or the claim is no longer ours.
 */
export async function release(db: Database, messageId: string, claim: string): Promise<boolean> {
  const released = await db.$client.unsafe(RELEASE, [messageId, claim], { prepare: true })
  return released.length > 0
}

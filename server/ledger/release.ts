import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'
import { GIVE_BACK } from './idempotency-keys.ts'

// One statement: no lock is held while PostgreSQL waits for this process.
export const RELEASE = `
  with message as (
    select id from open_messages where id = $1 and claim = $2 for update
  ),
  recipient as (
    select marked_at from open_recipients where message_id in (select id from message) for update
  ),
  released as (
    delete from open_messages where id in (select id from message)
      and ($3 or not exists (select from recipient where marked_at is not null))
    returning *
  ),
  released_recipient as (
    delete from open_recipients where message_id in (select id from released)
  ),
  ${GIVE_BACK}
  select id from released`

/**
 * Release, for a fault of ours after the claim: deletes the message as if the request had never come, and with it its
 * key and its share of a warm-up. Returns false, and changes nothing, when the claim is no longer ours, or a marker is
 * set. With `isUnsent` the process knows that it sent no dot, whatever the markers say.
 */
export async function release(
  db: Database,
  messageId: string,
  claimId: string,
  { isUnsent = false } = {},
): Promise<boolean> {
  return (await run(db, RELEASE, [messageId, claimId, isUnsent])).length > 0
}

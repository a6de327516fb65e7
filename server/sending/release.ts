import type { Database } from '../db/connect.ts'

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
    returning id
  ),
  released_recipient as (
    delete from open_recipients where message_id in (select id from released)
  )
  select id from released`

/**
 * Release, for a fault of ours after the claim and before any marker: the message goes as if the request had never come. False,
 * and nothing is changed, when a marker is set or the claim is no longer ours.
 */
export async function release(db: Database, messageId: string, claim: string): Promise<boolean> {
  const released = await db.$client.unsafe(RELEASE, [messageId, claim], { prepare: true })
  return released.length > 0
}

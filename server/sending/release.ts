import type { Database } from '../db/connect.ts'

/**
 * Release, for a fault of ours after the claim and before any marker: the message goes as if the request had never come. False,
 * and nothing is changed, when a marker is set or the claim is no longer ours.
 */
export async function release(db: Database, messageId: string, claim: string): Promise<boolean> {
  return db.$client.begin(async (tx) => {
    const [mine] = await tx`select id from open_messages where id = ${messageId} and claim = ${claim} for update`
    if (!mine) return false
    const held = await tx`select marked_at from open_recipients where message_id = ${messageId} for update`
    if (held.some((row) => row.marked_at !== null)) return false
    await tx`delete from open_messages where id = ${messageId}`
    await tx`delete from open_recipients where message_id = ${messageId}`
    return true
  })
}

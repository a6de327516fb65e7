import { expect } from 'vitest'
import type { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Database } from '../../server/db/connect.ts'
import { sql } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { statusNames } from '../../server/db/outcome-names.ts'
import { openMessages, openRecipients } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { reasonOf } from '../../server/errors.ts'
import type { World } from './world.ts'

// What the tests of the two limits of volume share: the warm-up of a domain and the quota of an account.

export const optionsIn = ({ account }: World, { sandbox = false } = {}) => ({
  accountId: account.id,
  sandbox,
  signal: new AbortController().signal,
})

/** The UTC day of the database's clock. */
export const todayIn = ({ clock }: World) => new Date(clock.now()).toISOString().slice(0, 10)

/** `delivered`, or the error code. */
export const resultOf = (sending: Promise<{ status: DeliveryStatus }>) =>
  sending.then(
    ({ status }) => statusNames.name(status) as string,
    (error) => reasonOf(error),
  )

/** What 1,000 sends end with, 100 at a time. One for which a busy machine had no time is sent again. */
export async function resultsOfMany(
  send: (i: number) => Promise<{ status: DeliveryStatus }>,
): Promise<(string | undefined)[]> {
  const waiting = Array.from({ length: 1_000 }, (_, i) => i)
  const results: (string | undefined)[] = []
  const work = async () => {
    for (let i = waiting.pop(); i !== undefined; i = waiting.pop()) {
      const result = await resultOf(send(i))
      if (result === 'transient_failure') waiting.push(i)
      else results.push(result)
    }
  }
  await Promise.all(Array.from({ length: 100 }, work))
  return results
}

/** The seconds that an error tells its caller to wait. */
export function retryAfterOf({ details }: { details: { desc: { name: string }; value: RetryInfo }[] }): number {
  return Number(details.find(({ desc }) => desc.name === 'RetryInfo')!.value.retryDelay.seconds)
}
interface RetryInfo {
  retryDelay: { seconds: bigint }
}

type Taken = Pick<typeof openMessages.$inferInsert, 'warmUpDay' | 'warmUpEmails' | 'quotaMonth' | 'quotaEmails'>

/** Stores three sends of a process that has crashed, each with emails `taken` of a limit. The last one has a marker. */
export async function addCrashedSends({ db, account }: World, taken: Taken): Promise<void> {
  const accountId = account.id
  const request = { from: '', to: [], subject: '', headers: [], attachments: [] }
  for (const isMarked of [false, false, true]) {
    const id = newId(Date.now())
    const lease = { claim: id, leaseUntil: sql`now() - interval '1 second'` }
    const stored = { id, accountId, createdAt: sql`now()`, region: 'eu', domain: 'example.test', request }
    await db.insert(openMessages).values({ ...stored, ...lease, ...taken })
    const recipient = { messageId: id, accountId, position: 0, eventId: id, email: 'a@example.net' }
    await db.insert(openRecipients).values({ ...recipient, ...lease, markedAt: isMarked ? sql`now()` : null })
  }
}

const WAITING = `
  select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Waits until a statement waits for a lock. */
export async function untilLocked(db: Database): Promise<void> {
  await expect.poll(() => run(db, WAITING)).not.toHaveLength(0)
}

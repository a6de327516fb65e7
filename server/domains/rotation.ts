import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import type { Database } from '../db/connect.ts'
import { and, eq, sql } from '../db/drizzle.ts'
import { newId } from '../db/ids.ts'
import { dkimKeys, domains } from '../db/schema.ts'
import { run } from '../db/statement.ts'
import { makeDkimKey } from './dkim-key.ts'
import type { DomainParts } from './domains.ts'

// The life of a DKIM key: next (shown, so that its record can be published), active (signs, once its record was seen),
// retired (no longer signs, and its record stays for mail that is on its way), deleted.

/** How long a retired key stays published: longer than any server keeps mail in a queue. */
export const RETIRED_DAYS = 14

/** Makes the next key of a domain without one, and has DNS checked at once. Does nothing for a deleted domain. */
export async function makeNextDkimKey(
  { db, sealer, clock }: DomainParts,
  domainId: string,
  requester?: Requester,
): Promise<void> {
  const isNext = and(eq(dkimKeys.domainId, domainId), eq(dkimKeys.state, 'next'))
  if ((await db.$count(dkimKeys, isNext)) > 0) return
  const now = new Date(clock.now())
  const key = await makeDkimKey(sealer, newId(now.getTime()), domainId, now)
  await changeAs(db, requester, async (tx, author) => {
    // The DNS of a domain that the operator vouches for is not checked automatically.
    const nextCheckAt = sql`case when ${domains.nextCheckAt} is not null then now() end`
    // The update locks the row: the second of two concurrent rotations finds the key of the first.
    const [domain] = await tx
      .update(domains)
      .set({ nextCheckAt })
      .where(eq(domains.id, domainId))
      .returning({ name: domains.name })
    const others = await tx.select({ id: dkimKeys.id }).from(dkimKeys).where(isNext)
    if (!domain || others.length > 0) return
    await tx.insert(dkimKeys).values({ ...key, state: 'next' })
    const { selector, algorithm } = key
    const change = { action: 'dkim.rotate', target: domain.name, after: { selector, algorithm } } as const
    if (author) await record(tx, { ...author, ...change })
  })
}

// One statement: two processes that see the record at once activate the key once.
const ACTIVATE_NEXT = `
  with next as (
    select id, algorithm from dkim_keys
    where domain_id = $1 and selector = $2 and state = 'next' for update
  )
  update dkim_keys k set
    state = case when k.id = n.id then 'active' else 'retired' end,
    retires_at = case when k.id <> n.id then now() + interval '${RETIRED_DAYS} days' end
  from next n
  where k.domain_id = $1 and (k.id = n.id or (k.state = 'active' and k.algorithm = n.algorithm))`

/**
 * Makes the next key with this selector the active one, and retires the active key of its algorithm. Call it once the
 * record of the next key was seen. Returns false when there is no such key, or it is no longer the next one.
 */
export async function activateNext(db: Database, domainId: string, selector: string): Promise<boolean> {
  const { count } = await run(db, ACTIVATE_NEXT, [domainId, selector])
  return count > 0
}

import type { Database } from '../db/connect.ts'
import { and, eq, sql } from '../db/drizzle.ts'
import { newId } from '../db/ids.ts'
import { dkimKeys, domains } from '../db/schema.ts'
import { makeDkimKey } from './dkim-key.ts'
import type { DomainParts } from './domains.ts'

// The life of a DKIM key: next (shown, so that its record can be published), active (signs, from when the record is seen), retired
// (signs no more, and its record stays for mail that is on its way), gone.

/** How long a retired key stays published: longer than any server keeps mail in a queue. */
export const RETIRED_DAYS = 14

/** Makes the next key of a domain when it has none, and asks DNS about it at once. A domain that is gone is left so. */
export async function makeNextKey({ db, sealer, clock }: DomainParts, domainId: string): Promise<void> {
  const isNext = and(eq(dkimKeys.domainId, domainId), eq(dkimKeys.state, 'next'))
  if ((await db.$count(dkimKeys, isNext)) > 0) return
  const now = new Date(clock.now())
  const key = await makeDkimKey(sealer, newId(now.getTime()), domainId, now)
  await db.transaction(async (tx) => {
    // A domain that an operator vouches for is not looked at by itself.
    const nextCheckAt = sql`case when ${domains.nextCheckAt} is not null then now() end`
    // Locks the row: of two rotations at once the second finds the key of the first.
    const there = await tx
      .update(domains)
      .set({ nextCheckAt })
      .where(eq(domains.id, domainId))
      .returning({ id: domains.id })
    const others = await tx.select({ id: dkimKeys.id }).from(dkimKeys).where(isNext)
    if (there.length > 0 && others.length === 0) await tx.insert(dkimKeys).values({ ...key, state: 'next' })
  })
}

/**
 * Signs with the next key of this selector from now on, and retires the one before it: false when there is no such key, or it is
 * not next any more. To be called when its record was seen.
 */
export async function activateNext(
  tx: Pick<Database, 'execute'>,
  domainId: string,
  selector: string,
): Promise<boolean> {
  const changed = await tx.execute(sql`
    with next as (
      select id, algorithm from dkim_keys
      where domain_id = ${domainId} and selector = ${selector} and state = 'next' for update
    )
    update dkim_keys k set
      state = case when k.id = n.id then 'active' else 'retired' end,
      retires_at = case when k.id <> n.id then now() + ${RETIRED_DAYS} * interval '1 day' end
    from next n
    where k.domain_id = ${domainId} and (k.id = n.id or (k.state = 'active' and k.algorithm = n.algorithm))`)
  return changed.count > 0
}

import type { Transaction } from '../db/connect.ts'
import { one, run } from '../db/statement.ts'

/** Entries in one commit, which is a fraction of a second. */
const STEP = 5_000

// What counted against an address goes with its entry. A replaced entry comes back as it was, with its id, unless it
// would have expired by now.
const UNDO = `
  with held as (
    select id, account_id, tenant_id, email, replaced, (replaced->>'expires_at')::timestamptz > now() as is_kept from suppressions
    where account_id = $1 and import_id = $2 order by email limit ${STEP} for update),
  removed as (
    delete from suppressions s using held h where s.id = h.id and h.is_kept is not true returning s.id),
  forgiven as (
    delete from refusals r using held h
    where r.account_id = h.account_id and r.email = h.email and r.tenant_id = h.tenant_id and h.is_kept is not true),
  restored as (
    update suppressions s set id = o.id, reason = o.reason, message_id = o.message_id, detail = o.detail,
      evidence = o.evidence, created_at = o.created_at, expires_at = o.expires_at, import_id = null, replaced = null
    from held h cross join lateral json_populate_record(null::suppressions, h.replaced) o
    where s.id = h.id and h.is_kept returning s.id)
  select (select count(*)::int from removed) as removed, (select count(*)::int from restored) as restored`

const COUNT = 'select count(*)::int as count from suppressions where account_id = $1 and import_id = $2'

export interface Undone {
  removed: number
  restored: number
}

/** How many entries the undoing of an import would remove or put back. */
export async function countImported(tx: Transaction, accountId: string, importId: string): Promise<number> {
  return one(await run<{ count: number }>(tx, COUNT, [accountId, importId])).count
}

/** Undoes the next 5,000 entries of an import. Returns zeros when none is left. */
export async function undoStep(tx: Transaction, accountId: string, importId: string): Promise<Undone> {
  return one(await run<Undone>(tx, UNDO, [accountId, importId]))
}

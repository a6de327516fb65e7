import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  type Suppression,
  SuppressionReasonSchema,
  SuppressionSchema,
  SuppressionScope,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { createCollector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { enumNames } from '../db/enum-names.ts'
import { stepInTime } from '../db/outage.ts'
import { EVERYBODY } from '../db/schema.ts'
import { inMs, run } from '../db/statement.ts'
import { createErasedForm, type ErasedFormOf } from './erased-form.ts'
import { readErasureKey } from './erasure-key.ts'

export const suppressionReasonNames = enumNames(SuppressionReasonSchema)

/** The addresses that a send looks up. */
export interface SuppressionQuery {
  accountId: string
  /** The tenant of the send. Without one, entries of tenants do not apply. */
  tenantId?: string
  /** In lower case with A-labels. */
  addresses: string[]
}

/** In place of the number of a query: addresses have been erased, and their entries have erased forms. */
const ERASED_EXIST = 0

// The last row is read in the snapshot of the others, so an entry is found under its address, or the row is there.
// The widest entry is reported: while it exists, removing a narrower one would not help.
export const FIND_SUPPRESSIONS = `
  select q.n::int, a.email, e.account_id, e.tenant_id, e.reason, e.since_ms
  from rows from (json_to_recordset($1::json) as (account_id uuid, tenant_id text, addresses json))
    with ordinality as q(account_id, tenant_id, addresses, n)
  cross join lateral json_array_elements_text(q.addresses) as a(email)
  cross join lateral (
    select s.account_id, s.tenant_id, s.reason, ${inMs('s.created_at')} as since_ms
    from suppressions s
    where s.account_id in ('${EVERYBODY}', q.account_id) and s.email = a.email and s.tenant_id in ('', q.tenant_id)
      and (s.expires_at is null or s.expires_at > now())
    order by s.account_id = '${EVERYBODY}' desc, s.tenant_id = '' desc
    limit 1
  ) as e
  union all
  select ${ERASED_EXIST}, null, null, null, null, null from erasure_keys`

interface EntryRow {
  /** The number of the query, from 1. */
  n: number
  email: string
  account_id: string
  tenant_id: string
  reason: string
  since_ms: number
}

/**
 * Finds which of these addresses must not be mailed, each with its widest entry: global before account before tenant.
 * One statement serves all sends that look up at the same moment. Expiry is by the database's clock. When it throws,
 * the result is unknown, and nothing may be sent.
 */
export function createSuppressionLookup(
  db: Database,
  sealer: Sealer,
): (query: SuppressionQuery) => Promise<Map<string, Suppression>> {
  let formOf: ErasedFormOf | undefined

  /** Looks up the addresses, and after the first erasure their erased forms too. */
  async function findEntries(queries: Query[]): Promise<Map<string, Suppression>[]> {
    const form = formOf
    const lookedUp = form ? queries.map((query) => withForms(query, form)) : queries
    const rows = await run<EntryRow>(db, FIND_SUPPRESSIONS, [jsonArray(lookedUp)])
    if (!formOf && rows.some(({ n }) => n === ERASED_EXIST)) {
      formOf = createErasedForm((await readErasureKey(db, sealer))!)
      return findEntries(queries)
    }
    const entriesOf = queries.map(() => new Map<string, Suppression>())
    for (const row of rows) {
      if (row.n === ERASED_EXIST) continue
      const [query, asked, entries] = [queries[row.n - 1], lookedUp[row.n - 1], entriesOf[row.n - 1]]
      const at = asked?.addresses.indexOf(row.email) ?? -1
      const address = at < 0 ? undefined : query?.addresses[at % query.addresses.length]
      if (!entries || address === undefined) throw new Error(`an entry of no address that was asked: query ${row.n}`)
      const other = entries.get(address)
      // An address may be on one list in its erased form, and on another by itself.
      if (!other || suppressionScopeOf(row.account_id, row.tenant_id) < other.scope) entries.set(address, entryOf(row))
    }
    return entriesOf
  }
  const find = createCollector<Query, Map<string, Suppression>>(findEntries, {
    load: db.load,
    note: db.noteBatch('find_suppressions'),
    groupOf: ({ accountId }) => accountId,
  })
  return (query) => stepInTime(db, find({ ...query, json: toJson(query) }))
}

/** A query as the statement reads it, in `json`. */
type Query = SuppressionQuery & { json: string }

const toJson = ({ accountId, tenantId = '', addresses }: SuppressionQuery): string =>
  JSON.stringify({ account_id: accountId, tenant_id: tenantId, addresses })

function withForms(query: SuppressionQuery, formOf: ErasedFormOf): Query {
  const both = { ...query, addresses: [...query.addresses, ...query.addresses.map(formOf)] }
  return { ...both, json: toJson(both) }
}

const entryOf = (row: EntryRow): Suppression =>
  create(SuppressionSchema, {
    scope: suppressionScopeOf(row.account_id, row.tenant_id),
    cause: suppressionReasonNames.value(row.reason),
    since: timestampFromMs(row.since_ms),
  })

export function suppressionScopeOf(accountId: string, tenantId: string): SuppressionScope {
  if (accountId === EVERYBODY) return SuppressionScope.GLOBAL
  return tenantId === '' ? SuppressionScope.ACCOUNT : SuppressionScope.TENANT
}

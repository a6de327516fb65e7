import type { Database, Transaction } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { newId } from '../../db/ids.ts'
import { auditEntries } from '../../db/people-schema.ts'
import { apiKeys } from '../../db/schema.ts'
import type { Action } from './actions.ts'

/** What makes a change. `id` is a UUID. The name of an API key is read when the entry is written. */
export type Actor =
  | { kind: 'person'; id: string; email: string }
  | { kind: 'api_key'; id: string }
  | { kind: 'operator'; name: string }
  // Whoever did not sign in.
  | { kind: 'stranger' }

/** What an entry says about its origin. */
export interface Author {
  accountId: string
  actor: Actor
  /** The address that the call came from; undefined for the operator. */
  remoteAddress?: string
  /** A call has one: see change-as.ts. */
  right?: undefined
}

type ChangedFields = Readonly<Record<string, unknown>>

export interface Change extends Author {
  action: Action
  /** What was changed: a domain's name, a key's name, an address. */
  target: string
  /** The fields before and after, as JSON has them. Only those that differ are stored. */
  before?: ChangedFields
  after?: ChangedFields
}

/**
 * Writes an entry of the audit log. Call it in the transaction of the change, and never with a secret. A change whose
 * fields are the same before and after is none, and has no entry.
 */
export async function record(tx: Database | Transaction, change: Change): Promise<void> {
  const { accountId, actor, action, target, remoteAddress } = change
  const { names, before, after } = differing(change)
  if (before && after && names.length === 0) return
  await tx.insert(auditEntries).values({
    id: idOfNow(),
    accountId,
    actorKind: actor.kind,
    actorId: 'id' in actor ? actor.id : null,
    actorName: nameOf(actor),
    action,
    target,
    before,
    after,
    remoteAddress,
  })
}

/**
 * A UUIDv7 with the time of the database, because the operator's machine may have another. Twelve of its bits are the
 * fraction of the millisecond (RFC 9562 6.2, method 3), so that entries are listed in the order in which they began.
 */
function idOfNow() {
  const fraction = sql`lpad(to_hex(micros % 1000 * 4096 / 1000), 3, '0')`
  return sql<string>`(
    select (lpad(to_hex(micros / 1000), 12, '0') || '7' || ${fraction} || ${newId(0).slice(18)})::uuid
    from (select (extract(epoch from clock_timestamp()) * 1e6)::int8 as micros) as clock
  )`
}

function nameOf(actor: Actor) {
  if (actor.kind === 'person') return actor.email
  if (actor.kind === 'operator') return actor.name
  if (actor.kind === 'stranger') return ''
  return sql<string>`(select ${apiKeys.name} from ${apiKeys} where ${apiKeys.id} = ${actor.id})`
}

/** The fields that differ. A field that is absent counts as null. */
function differing({ before, after }: Pick<Change, 'before' | 'after'>) {
  const textOf = (fields: ChangedFields | undefined, name: string) => JSON.stringify(fields?.[name] ?? null)
  const names = Object.keys({ ...before, ...after }).filter((name) => textOf(before, name) !== textOf(after, name))
  const pick = (fields: ChangedFields | undefined) =>
    fields && Object.fromEntries(names.map((name) => [name, fields[name] ?? null]))
  return { names, before: pick(before), after: pick(after) }
}

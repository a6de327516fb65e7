import type { Database, Transaction } from './connect.ts'
import { alterTables, type DdlTransaction, ddl } from './ddl.ts'
import { one, run } from './statement.ts'

// The order of events in the stream is that of (stream_order, id). The stream order of an event is the id of the
// transaction that committed it, after those of all clusters that the database was in before: transaction ids begin
// anew when a dump is restored in another cluster. Events of releases before 0.3 have the order 0.

/** A cluster's transaction ids are below this. At 10,000 a second they last for 55 years. */
const EPOCH_SIZE = 2 ** 44

/** SQL: the stream order of a transaction id. Every sum is below 2^53, which a number of JavaScript can hold. */
export const orderOf = (epoch: string, transactionId: string): string =>
  `(${epoch}::bigint * ${EPOCH_SIZE} + ${transactionId}::text::bigint)`

/** SQL: the newest epoch. */
export const EPOCH = '(select max(epoch) from event_orders)'

/** SQL: the cluster of the server. Its standbys have the same identifier, and so have physical copies. */
export const CLUSTER = '(select system_identifier::text from pg_control_system())'

/** SQL: whether the newest epoch is that of this cluster. */
export const IS_KEPT = `(select cluster from event_orders order by epoch desc limit 1) is not distinct from ${CLUSTER}`

const LOCK = ddl`lock table event_orders in share row exclusive mode`

const BEGIN_EPOCH = `
  insert into event_orders (epoch, cluster) values (coalesce(${EPOCH}, 0) + 1, ${CLUSTER}) returning epoch`

/** Partitions have their own defaults, which an insert through the parent does not use. */
const setDefault = (epoch: number) =>
  ddl`alter table only events alter column stream_order set default ${orderOf(String(epoch), 'pg_current_xact_id()')}`

async function isKept(db: Database | Transaction): Promise<boolean> {
  return one(await run<{ isKept: boolean }>(db, `select ${IS_KEPT} as "isKept"`)).isKept
}

/**
 * Begins an epoch when the database is in another cluster than before: after the first migration, and after a dump was
 * restored elsewhere. Every process calls it before it stores events.
 */
export async function keepEventOrder(db: Database): Promise<void> {
  if (!(await isKept(db))) await alterTables(db, beginEpoch)
}

/** As `keepEventOrder`, in a transaction. */
export async function beginEpoch({ tx, alter }: DdlTransaction): Promise<void> {
  await alter(LOCK)
  if (await isKept(tx)) return
  const { epoch } = one(await run<{ epoch: number }>(tx, BEGIN_EPOCH))
  await alter(setDefault(epoch))
}

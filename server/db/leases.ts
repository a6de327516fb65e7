import { randomUUID } from 'node:crypto'
import type { TransactionSql } from 'postgres'
import { runEvery } from '../async/run-every.ts'
import type { Database, Transaction } from './connect.ts'
import { one, run } from './statement.ts'

// A lock that lasts longer than a transaction is a row, and not a lock of a session: a pooler shares sessions, and one
// ends when its server is replaced by a standby. The row belongs to its holder until another one takes it, which is
// possible when its time is up. All times are those of the database's clock.

export const LEASE_S = 30
const RENEW_EVERY_MS = 10_000

const UNTIL = `clock_timestamp() + interval '${LEASE_S} seconds'`

const TAKE = `
  insert into leases as l (name, holder, until) values ($1, $2, ${UNTIL})
  on conflict (name) do update set holder = excluded.holder, until = ${UNTIL} where l.until < clock_timestamp()
  returning name`
const RENEW = `update leases set until = ${UNTIL} where name = $1 and holder = $2 returning name`
const FREE = 'delete from leases where name = $1 and holder = $2'

const IS_HELD = `
  with expired as (delete from leases where name = $1 and until < clock_timestamp() returning name)
  select exists (select from leases where name = $1) and not exists (select from expired) as "isHeld"`

/** Another holder has taken the lease. */
export class LeaseLost extends Error {}

export interface Lease {
  /**
   * Renews the lease; throws LeaseLost when it has another holder. A transaction that does this first is the holder's
   * until it commits: it has the row's lock, so whoever takes the lease waits for it.
   */
  renew(db: Database | Transaction | TransactionSql): Promise<void>
  free(): Promise<void>
}

/**
 * Takes a lease, and renews it until it is freed; undefined when it has a holder. `lock` runs before, in the same
 * transaction.
 */
export async function takeLease(
  db: Database,
  name: string,
  lock: (tx: TransactionSql) => Promise<unknown> = async () => {},
): Promise<Lease | undefined> {
  const holder = randomUUID()
  const taken = await db.$client.begin(async (tx) => {
    await lock(tx)
    return run(tx, TAKE, [name, holder])
  })
  if (taken.count === 0) return undefined

  async function renew(tx: Database | Transaction | TransactionSql): Promise<void> {
    const { count } = await run(tx, RENEW, [name, holder])
    if (count === 0) throw new LeaseLost(`another process has taken the lease "${name}"`)
  }

  // A failure is that of the next transaction, too.
  const renewal = runEvery(
    RENEW_EVERY_MS,
    () => renew(db),
    () => {},
  )
  return {
    renew,
    async free() {
      renewal.stop()
      await run(db, FREE, [name, holder])
    },
  }
}

/**
 * Whether a lease has a holder. One whose time is up loses it: its holder then cannot renew it. The caller must have
 * the lock that `takeLease` took it under, or a lease may be taken after the answer.
 */
export async function isHeld(tx: TransactionSql, name: string): Promise<boolean> {
  return one(await run<{ isHeld: boolean }>(tx, IS_HELD, [name])).isHeld
}

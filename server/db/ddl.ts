import { setTimeout as sleep } from 'node:timers/promises'
import { isLocked } from './collector.ts'
import { connect, type Database, type Transaction } from './connect.ts'
import { run } from './statement.ts'

// DDL on live tables. A statement that waits for a lock lets all others wait behind it, so DDL gives up its lock soon
// and asks again later. `run` takes no `Ddl`: the functions of this file alone run it. See
// docs/adr/0190-ddl-on-live-tables.md.

/** The longest that DDL waits for a lock. */
export const DDL_LOCK_MS = 200
const TRIES = 5
const PAUSE_MS = 500

/** A statement that changes tables, or locks one. */
export interface Ddl {
  readonly ddl: string
}

/** Marks a statement as DDL. The values are SQL: names and literals that need no quotes. */
export const ddl = (strings: TemplateStringsArray, ...values: readonly string[]): Ddl => ({
  ddl: String.raw(strings, ...values),
})

/** A transaction whose statements give up a lock. */
export interface DdlTransaction {
  tx: Transaction
  alter(statement: Ddl): Promise<void>
}

interface Patience {
  /** The longest that each statement waits for a lock. */
  lockMs?: number
  /** How often the transaction is tried. */
  tries?: number
  /** The time between two tries, in which no statement waits behind it. */
  pauseMs?: number
  /** Is called with the error of a try that could not get a lock, unless it was the last one. */
  onWait?(error: Error): void
}

/**
 * Runs DDL in a transaction, which must be harmless to repeat. Throws SQLSTATE 55P03 when a lock was not free in any
 * try. Each transaction sets its own limit, because a pooler refuses the settings of a session.
 */
export async function alterTables<T>(
  db: Database,
  work: (transaction: DdlTransaction) => Promise<T>,
  { lockMs = DDL_LOCK_MS, tries = TRIES, pauseMs = PAUSE_MS, onWait }: Patience = {},
): Promise<T> {
  for (let left = tries; ; await sleep(pauseMs)) {
    try {
      return await db.transaction(async (tx) => {
        await run(tx, `select set_config('lock_timeout', $1, true)`, [`${lockMs}ms`])
        return work({ tx, alter: async ({ ddl }) => void (await run(tx, ddl)) })
      })
    } catch (error) {
      if (!isLocked(error) || --left === 0) throw error
      onWait?.(error as Error)
    }
  }
}

export interface DdlSession {
  db: Database
  /**
   * Runs a statement that no transaction may hold. Tries again as `alterTables` does, with `next` when what it has done
   * until then lasts.
   */
  alterAlone(statement: Ddl, next?: Ddl): Promise<void>
  end(): Promise<void>
}

/** Opens a session for DDL whose statements may take any time, and wait for a lock as long as other DDL. */
export function openDdlSession(databaseUrl: string): DdlSession {
  const db = connect(databaseUrl, { connections: 1, statementMs: 0, lockMs: DDL_LOCK_MS })
  return {
    db,
    async alterAlone(first, next = first) {
      for (let left = TRIES; ; await sleep(PAUSE_MS)) {
        try {
          await run(db, left === TRIES ? first.ddl : next.ddl)
          return
        } catch (error) {
          if (!isLocked(error) || --left === 0) throw error
        }
      }
    },
    end: () => db.$client.end({ timeout: 5 }),
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { inTime } from '../async/timeout.ts'
import type { Database } from './connect.ts'
import { type DatabaseFault, databaseFault } from './database-fault.ts'
import { checkDatabase } from './database-readiness.ts'

const GIVE_UP_AFTER_MS = 30_000
const ANSWER_WITHIN_MS = 5_000
const PAUSE_MS = 500

/**
 * Waits until the database is up, takes writes and is migrated, because the processes of one deployment start in any
 * order. Throws after 30 s, and at once for a fault that cannot pass by itself, such as a wrong password. The error
 * says what is wrong and how to fix it.
 */
export async function waitForDatabase(
  db: Database,
  report: (what: string) => void,
  giveUpAfterMs = GIVE_UP_AFTER_MS,
): Promise<void> {
  const giveUpAt = performance.now() + giveUpAfterMs
  for (let reported = ''; ; await sleep(PAUSE_MS)) {
    const fault = await startFault(db)
    if (!fault) return
    const message = `${fault.what} ${fault.wayOut}`
    if (!fault.canPass || performance.now() > giveUpAt) throw new Error(message)
    if (message !== reported) report(`${message} Waiting.`)
    reported = message
  }
}

async function startFault(db: Database): Promise<DatabaseFault | undefined> {
  try {
    const migrations = await inTime(checkDatabase(db), ANSWER_WITHIN_MS)
    return migrations.state === 'ok' ? undefined : migrations.fault
  } catch (error) {
    db.health.note(error)
    return databaseFault(error) ?? { what: `The database fails: ${causeOf(error).message}.`, wayOut: '', canPass: true }
  }
}

/** The driver's error: the query builder wraps it in one that quotes the statement. */
function causeOf(error: unknown): Error {
  const { cause } = error as Error
  return cause instanceof Error ? cause : (error as Error)
}

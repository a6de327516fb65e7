import { type DatabaseClock, databaseClock } from '../db/clock.ts'
import { connect, type Database, STATEMENT_MS } from '../db/connect.ts'
import { databaseFault, NO_TABLES } from '../db/database-fault.ts'
import { Failure } from './command.ts'
import { ownDatabase, variables } from './environment.ts'

/**
 * Calls `use` with a database connection and closes it. Throws a Failure when the database cannot be used.
 *
 * @param statementMs the longest that a statement may take; 0 for no limit
 */
export async function withDatabase<Result>(
  use: (db: Database, clock: DatabaseClock) => Promise<Result>,
  statementMs = STATEMENT_MS,
): Promise<Result> {
  const db = connect(variables('databaseUrl').databaseUrl, { connections: 1, statementMs })
  try {
    const clock = await databaseClock(db)
    return await use(db, clock).finally(() => clock.stop())
  } catch (error) {
    throw databaseFailure(error) ?? error
  } finally {
    await db.$client.end({ timeout: 1 })
  }
}

/** Why the database as a whole cannot be used; undefined for any other error. */
export function databaseFailure(error: unknown): Failure | undefined {
  const fault = databaseFault(error)
  if (!fault) return undefined
  if (fault === NO_TABLES || !fault.canPass) return new Failure('configuration', `${fault.what}\n${fault.wayOut}`)
  const wayOut = ownDatabase() ? fault.wayOut : 'npm start runs it here. Is npm start running?'
  return new Failure('unavailable', `${fault.what}\n${wayOut}`)
}

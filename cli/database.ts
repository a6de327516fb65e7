import { createDatabaseClock, type DatabaseClock } from '../server/db/clock.ts'
import { type ConnectOptions, connect, type Database } from '../server/db/connect.ts'
import { databaseFault, NO_TABLES } from '../server/db/database-fault.ts'
import { Failure } from './command.ts'
import { ownDatabase, variables } from './environment.ts'

/** Calls `use` with a database connection and closes it. Throws a Failure when the database cannot be used. */
export async function withDatabase<Result>(
  use: (db: Database, clock: DatabaseClock) => Promise<Result>,
  options: Pick<ConnectOptions, 'connections' | 'statementMs'> = {},
): Promise<Result> {
  const db = connect(variables('databaseUrl').databaseUrl, { connections: 1, ...options })
  try {
    const clock = await createDatabaseClock(db)
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

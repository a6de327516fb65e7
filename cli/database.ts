import { checkMigrations, refuseUnusable, UNRELEASED } from '../server/db/applied-migrations.ts'
import { createDatabaseClock, type DatabaseClock } from '../server/db/clock.ts'
import { type ConnectOptions, connect, type Database } from '../server/db/connect.ts'
import { type DatabaseFault, databaseFault, NO_TABLES } from '../server/db/database-fault.ts'
import { CliError } from './command.ts'
import { dataDir, ownDatabase, variables } from './environment.ts'

/** Calls `use` with a database connection and closes it. Throws a CliError when the database cannot be used. */
export async function withDatabase<Result>(
  use: (db: Database, clock: DatabaseClock) => Promise<Result>,
  options: Pick<ConnectOptions, 'connections' | 'statementMs'> = {},
): Promise<Result> {
  const db = connect(variables('databaseUrl').databaseUrl, { connections: 1, ...options })
  try {
    refuseUnusable(await checkMigrations(db))
    const clock = await createDatabaseClock(db)
    return await use(db, clock).finally(() => clock.stop())
  } catch (error) {
    throw databaseFailure(error) ?? error
  } finally {
    await db.$client.end({ timeout: 1 })
  }
}

/** What the operator can do. Nothing in the database of `npm start` needs to be kept. */
export function wayOutOf(fault: DatabaseFault): string {
  if (fault !== UNRELEASED || ownDatabase()) return fault.wayOut
  return `Delete the folder ${dataDir()}, and run npm start again.`
}

/** Why the database as a whole cannot be used; undefined for any other error. */
export function databaseFailure(error: unknown): CliError | undefined {
  const fault = databaseFault(error)
  if (!fault) return undefined
  if (fault === NO_TABLES || !fault.canPass) return new CliError('configuration', `${fault.what}\n${wayOutOf(fault)}`)
  const wayOut = ownDatabase() ? fault.wayOut : 'npm start runs it here. Is npm start running?'
  return new CliError('unavailable', `${fault.what}\n${wayOut}`)
}

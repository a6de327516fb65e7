import { databaseFault, NO_TABLES } from '../db/database-fault.ts'
import { Failure } from './command.ts'

/** What an error of the driver says about the database as a whole; undefined for any other error. */
export function reachability(error: unknown): Failure | undefined {
  const fault = databaseFault(error)
  if (!fault) return undefined
  if (fault === NO_TABLES || !fault.canPass) return new Failure('configuration', `${fault.what}\n${fault.wayOut}`)
  const wayOut = process.env.DATABASE_URL ? fault.wayOut : 'npm start runs it here. Is npm start running?'
  return new Failure('unavailable', `${fault.what}\n${wayOut}`)
}

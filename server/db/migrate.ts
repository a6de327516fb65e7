import { readVariables, reportFaults } from '../config/config.ts'
import { applyMigrations } from './migrations.ts'

// `npm run migrate`: applies the migrations to DATABASE_URL and ends. Exit 78 without a valid one, 1 when it fails.

const reading = readVariables(process.env, ['databaseUrl'])
if ('faults' in reading) reportFaults(reading.faults)
try {
  await applyMigrations(reading.variables.databaseUrl, ({ message }) => console.error(`Waiting for a lock: ${message}`))
  console.log('migrations applied')
} catch (error) {
  // An error that failed at every address of a host name has a code and no message. The builder's errors quote the
  // statement, and their cause is the driver's error.
  const { message, code, cause } = error as NodeJS.ErrnoException
  console.error(
    `The migrations could not be applied: ${message || code}${cause ? `\n${(cause as Error).message}` : ''}`,
  )
  process.exit(1)
}

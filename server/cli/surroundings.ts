import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVariables } from '../config/config.ts'
import type { Variables } from '../config/variables.ts'
import { type DatabaseClock, databaseClock } from '../db/clock.ts'
import { connect, type Database } from '../db/connect.ts'
import { Failure } from './command.ts'

/** What `npm start` keeps in DATA_DIR, for a command that is given nothing else. */
function kept(name: string): string | undefined {
  const file = join(process.env.DATA_DIR || '.verdict', name)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/** The environment; where it names no database, Temporal or encryption keys, those of the instance that `npm start` runs here. */
export function environment(): Record<string, string | undefined> {
  const database = kept('database.json')
  const temporal = kept('temporal.json')
  return {
    ...process.env,
    DATABASE_URL: process.env.DATABASE_URL || (database && JSON.parse(database).url),
    TEMPORAL_ADDRESS: process.env.TEMPORAL_ADDRESS || (temporal && JSON.parse(temporal).address),
    ENCRYPTION_KEYS: process.env.ENCRYPTION_KEYS || kept('encryption.keys'),
  }
}

/** The live key of the instance that `npm start` runs here. */
export function developmentKey(): string | undefined {
  const keys = kept('keys.json')
  return keys && JSON.parse(keys).live
}

/** Where the instance that `npm start` runs here listens. */
export function developmentUrl(): string {
  const instance = kept('instance.json')
  return instance ? JSON.parse(instance).url : 'http://127.0.0.1:8080'
}

/** The named variables. All their faults are told at once, and end the command. */
export function variables<Wanted extends keyof Variables>(...wanted: Wanted[]): Pick<Variables, Wanted> {
  const reading = readVariables(environment(), wanted)
  if ('variables' in reading) return reading.variables
  const lines = reading.faults.map(({ name, why, example }) => `${name} ${why}. Example: ${example}`)
  throw new Failure('configuration', `${lines.join('\n')}\nOr start a development instance here: npm start`)
}

/** Runs with a connection of its own to the database, and closes it. */
export async function withDatabase<Result>(
  run: (db: Database, clock: DatabaseClock) => Promise<Result>,
): Promise<Result> {
  const db = connect(variables('databaseUrl').databaseUrl, { connections: 1 })
  try {
    const clock = await databaseClock(db)
    try {
      return await run(db, clock)
    } finally {
      clock.stop()
    }
  } finally {
    await db.$client.end({ timeout: 1 })
  }
}

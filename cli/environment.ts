import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVariables } from '../server/config/config.ts'
import type { Variables } from '../server/config/variables.ts'
import { CliError } from './command.ts'

/** The folder of `npm start`. */
export const dataDir = () => process.env.DATA_DIR || '.verdict'

/** A file that `npm start` keeps in DATA_DIR. */
function stored(name: string): string | undefined {
  const file = join(dataDir(), name)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/** Returns the environment. Database, Temporal and encryption keys default to those that `npm start` stored. */
export function environment(): Record<string, string | undefined> {
  const database = stored('database.json')
  const temporal = stored('temporal.json')
  const { env } = process
  return {
    ...env,
    DATABASE_URL: env.DATABASE_URL || (ownDatabase() ? undefined : database && JSON.parse(database).url),
    TEMPORAL_ADDRESS: env.TEMPORAL_ADDRESS || (temporal && JSON.parse(temporal).address),
    ENCRYPTION_KEYS: env.ENCRYPTION_KEYS || (env.ENCRYPTION_KEYS_FILE ? undefined : stored('encryption.keys')),
  }
}

/** Whether the operator names a database, in place of that of `npm start`. */
export const ownDatabase = () => Boolean(process.env.DATABASE_URL || process.env.DATABASE_URL_FILE)

/** Returns the live API key that `npm start` stored in DATA_DIR, or undefined when there is none. */
export function developmentKey(): string | undefined {
  const keys = stored('keys.json')
  return keys && JSON.parse(keys).live
}

/** Returns the URL that the last `npm start` stored in DATA_DIR, or the default URL. */
export function developmentUrl(): string {
  const instance = stored('instance.json')
  return instance ? JSON.parse(instance).url : 'http://127.0.0.1:8080'
}

/** Returns the named variables. Throws one CliError that lists every missing or invalid one. */
export function variables<Name extends keyof Variables>(...names: Name[]): Pick<Variables, Name> {
  const reading = readVariables(environment(), names)
  if ('variables' in reading) return reading.variables
  const lines = reading.faults.map(({ name, why, example }) => `${name} ${why}. Example: ${example}`)
  throw new CliError('configuration', `${lines.join('\n')}\nOr start a development instance here: npm start`)
}

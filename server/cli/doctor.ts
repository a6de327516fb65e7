import { Command } from '@commander-js/extra-typings'
import { readConfig } from '../config/config.ts'
import type { Database } from '../db/connect.ts'
import { createSealer } from '../db/encryption.ts'
import { migrationsApplied } from '../db/migrations.ts'
import { countSealed } from '../db/reseal.ts'
import { dkimKeys } from '../db/schema.ts'
import { run } from '../db/statement.ts'
import { openDkimKey } from '../domains/dkim-key.ts'
import { examples, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { environment, variables } from './environment.ts'

const OLDEST_POSTGRES = 15

/** In this order. Each check returns what it found as text, or throws it as an error. */
const CHECKS = { configuration, database, migrations, dkim_keys: sealedKeys, secrets, temporal }

export const doctor = (print: Print) =>
  new Command('doctor')
    .description('Check the configuration, the database, the stored keys and Temporal')
    .addHelpText('after', examples('verdict doctor', 'verdict doctor --json | jq ".checks[] | select(.passed | not)"'))
    .action(async () => {
      const checks = []
      for (const [name, check] of Object.entries(CHECKS)) checks.push({ name, ...(await resultOf(check)) })
      const text = checks
        .map(({ name, passed, detail }) => `${passed ? 'ok    ' : 'FAILED'}  ${name}: ${detail}`)
        .join('\n')
      print({ json: { checks }, text, exit: checks.every(({ passed }) => passed) ? 'ok' : 'failed' })
    })

async function resultOf(check: () => string | Promise<string>): Promise<{ passed: boolean; detail: string }> {
  try {
    return { passed: true, detail: await check() }
  } catch (error) {
    return { passed: false, detail: (error as Error).message }
  }
}

function configuration(): string {
  const reading = readConfig(environment())
  if ('faults' in reading) throw new Error(reading.faults.map(({ name, why }) => `${name} ${why}`).join('; '))
  return reading.warnings.join(' ') || 'every variable is valid'
}

async function database(): Promise<string> {
  const [row] = await withDatabase((db) => run<{ server_version: string }>(db, 'show server_version'))
  const version = row!.server_version
  if (Number.parseInt(version, 10) >= OLDEST_POSTGRES) return `PostgreSQL ${version}`
  throw new Error(`PostgreSQL ${version} is too old: ${OLDEST_POSTGRES} or later is needed`)
}

async function migrations(): Promise<string> {
  const applied = await withDatabase((db) => migrationsApplied(db))
  if (applied) return 'all applied'
  throw new Error('some are missing: npm run migrate')
}

async function sealedKeys(): Promise<string> {
  const sealer = createSealer(variables('encryptionKeys').encryptionKeys)
  const keys = await withDatabase((db: Database) => db.select().from(dkimKeys))
  for (const key of keys) openDkimKey(sealer, key)
  return `ENCRYPTION_KEYS opens all ${keys.length}`
}

async function secrets(): Promise<string> {
  const { encryptionKeys } = variables('encryptionKeys')
  const { total, older } = await withDatabase((db) => countSealed(db, encryptionKeys))
  const { id } = encryptionKeys[0]!
  if (older === 0) return `all ${total} are sealed with the key ${id}`
  return `${older} of ${total} are sealed with an older key than ${id}: verdict secrets rotate`
}

async function temporal(): Promise<string> {
  const reading = readConfig(environment())
  if ('faults' in reading) throw new Error('not checked: the configuration is invalid')
  if (!reading.config.temporal)
    return 'TEMPORAL_ADDRESS is not set: webhook retries wait, and replays fail, until it is'
  const { address, namespace } = reading.config.temporal
  // Loaded only here: the other checks and commands do not wait for it.
  const { createTemporal } = await import('../../workflows/temporal.ts')
  const client = await createTemporal(reading.config)
  const health = await client.health().finally(() => client.close())
  if (health === 'ok') return `${address} responds`
  throw new Error(
    `${address} does not respond for the namespace ${namespace}: webhook retries wait, and replays fail, until it does`,
  )
}

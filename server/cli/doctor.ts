import { readConfig } from '../config/config.ts'
import type { Database } from '../db/connect.ts'
import { createSealer } from '../db/encryption.ts'
import { migrationsApplied } from '../db/migrations.ts'
import { countSealed } from '../db/reseal.ts'
import { dkimKeys } from '../db/schema.ts'
import { openDkimKey } from '../domains/dkim-key.ts'
import { command, Failure } from './command.ts'
import { reachability } from './database-errors.ts'
import { environment, variables, withDatabase } from './surroundings.ts'

const OLDEST_POSTGRES = 15

/** In this order. Each gives words for a person, or throws them. */
const CHECKS = { configuration, database, migrations, dkim_keys: sealedKeys, secrets, temporal }

export const doctor = command({
  summary: 'Check the configuration, the database, the stored keys and Temporal of this set-up.',
  options: {},
  examples: ['verdict doctor', 'verdict doctor --json | jq ".checks[] | select(.passed | not)"'],
  async run() {
    const checks = []
    for (const [name, check] of Object.entries(CHECKS)) checks.push({ name, ...(await outcomeOf(check)) })
    const text = checks
      .map(({ name, passed, detail }) => `${passed ? 'ok    ' : 'FAILED'}  ${name}: ${detail}`)
      .join('\n')
    return { json: { checks }, text, exit: checks.every(({ passed }) => passed) ? 'ok' : 'failed' }
  },
})

async function outcomeOf(check: () => string | Promise<string>): Promise<{ passed: boolean; detail: string }> {
  try {
    return { passed: true, detail: await check() }
  } catch (error) {
    return { passed: false, detail: (reachability(error) ?? (error as Error)).message }
  }
}

function configuration(): string {
  const reading = readConfig(environment())
  if ('faults' in reading) throw new Error(reading.faults.map(({ name, why }) => `${name} ${why}`).join('; '))
  return reading.warnings.join(' ') || 'every variable can be read'
}

async function database(): Promise<string> {
  const version = await withDatabase(async (db) => (await db.$client`show server_version`)[0]!.server_version as string)
  if (Number.parseInt(version, 10) >= OLDEST_POSTGRES) return `PostgreSQL ${version}`
  throw new Error(`PostgreSQL ${version} is too old: ${OLDEST_POSTGRES} or later is needed`)
}

async function migrations(): Promise<string> {
  const applied = await withDatabase((db) => migrationsApplied(db))
  if (applied) return 'all applied'
  throw new Failure('configuration', 'some are missing: npm run migrate')
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
  if ('faults' in reading) throw new Error('not looked for: the configuration is faulty')
  if (!reading.config.temporal) return 'TEMPORAL_ADDRESS is not set: retries and replays of webhooks wait'
  const { address, namespace } = reading.config.temporal
  // Only here: the other commands need not wait until its client is loaded.
  const { createTemporal } = await import('../../workflows/temporal.ts')
  const client = createTemporal(reading.config)
  const health = await client.health().finally(() => client.close())
  if (health === 'ok') return `${address} answers`
  throw new Error(`${address} does not answer for the namespace ${namespace}: retries and replays of webhooks wait`)
}

import { Resolver } from 'node:dns/promises'
import {
  type Config,
  type Fault,
  fileOf,
  misspeltNames,
  readConfig,
  type TemporalConfig,
} from '../../server/config/config.ts'
import { connect, type Database } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'

/** Loaded only here: nothing else in the command line waits for Temporal's SDK. */
async function inspect(temporal: TemporalConfig) {
  const { inspectTemporal } = await import('../../workflows/inspection.ts')
  return inspectTemporal(temporal)
}

export type TemporalInspection = Awaited<ReturnType<typeof inspect>>

type Environment = Readonly<Record<string, string | undefined>>

/** What the doctor examines: an environment, and the database, DNS and Temporal that it names. */
export interface Patient {
  /** An invalid variable counts as not set. The checks that read it are skipped. */
  config: Config
  faults: readonly Fault[]
  /** A sentence for each name that looks misspelt. */
  misspelt: readonly string[]
  /** The domain whose mail exchanger is dialled; undefined when the operator does not want it. */
  probe: string | undefined
  /** A connection that has been used; rejects while the database cannot be used. */
  database(): Promise<Database>
  /** Temporal as it was found; undefined when TEMPORAL_ADDRESS is not set. */
  temporal(): Promise<TemporalInspection | undefined>
  /** For records that the product itself never asks for. */
  dns: Resolver
  close(): Promise<void>
}

const DNS_MS = 2_000

export function createPatient(env: Environment, probe: string | undefined): Patient {
  const { config, faults } = readLeniently(env)
  const dns = new Resolver({ timeout: DNS_MS, tries: 1 })
  if (config.dnsServers) dns.setServers([...config.dnsServers])
  const connections: Database[] = []
  let database: Promise<Database> | undefined
  let temporal: Promise<TemporalInspection> | undefined

  async function open(): Promise<Database> {
    const db = connect(config.databaseUrl, { connections: 4 })
    connections.push(db)
    await run(db, 'select 1')
    return db
  }

  return {
    config,
    faults,
    misspelt: misspeltNames(env),
    probe,
    dns,
    database() {
      database ??= open()
      return database
    },
    async temporal() {
      if (!config.temporal) return undefined
      temporal ??= inspect(config.temporal)
      return temporal
    },
    async close() {
      dns.cancel()
      temporal?.then(({ close }) => close()).catch(() => {})
      await Promise.all(connections.map((db) => db.$client.end({ timeout: 1 })))
    },
  }
}

/** Values in place of required variables that are missing or invalid. No check that reads these variables is made. */
const PLACEHOLDERS: Record<string, string> = {
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  ENCRYPTION_KEYS: `none:${Buffer.alloc(32).toString('base64')}`,
  PUBLIC_URL: 'https://none.invalid',
  DATA_REGION: 'none',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
}

/** Reads the configuration as if no invalid variable were set, so that one fault does not hide all others. */
function readLeniently(env: Environment): { config: Config; faults: Fault[] } {
  const faults: Fault[] = []
  let lenient = env
  for (;;) {
    const reading = readConfig(lenient)
    if ('config' in reading) return { config: reading.config, faults }
    const fresh = reading.faults.filter(({ name }) => faults.every((known) => known.name !== name))
    // A fault that stays although its variable was replaced belongs to another variable.
    if (fresh.length === 0) throw new Error(reading.faults.map(({ name, why }) => `${name} ${why}`).join('; '))
    faults.push(...fresh)
    const replaced = fresh.flatMap(({ name }) => [
      [name, PLACEHOLDERS[name]],
      [fileOf({ name }), undefined],
    ])
    lenient = { ...lenient, ...Object.fromEntries(replaced) }
  }
}

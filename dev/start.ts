import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { databaseFailure } from '../server/cli/database.ts'
import { applyMigrations } from '../server/db/migrations.ts'
import { stopSignals, surviveHangUp } from '../server/stop-signals.ts'
import { openDatabase } from './postgres/open.ts'
import { keep, writePrivately } from './private-file.ts'
import { Problem } from './problem.ts'
import { type Keys, seed } from './seed.ts'
import { startServices } from './services.ts'
import { makeDataDir, portIsFree, readSettings, readyFileCanBeMade, THIS_MACHINE } from './settings.ts'
import { openTemporal } from './temporal/open.ts'
import { welcome } from './welcome.ts'

// `npm start`: everything on one machine with nothing configured. What the environment does configure is used instead.

surviveHangUp()

// Keys, messages and logs are for their owner alone: nothing that a part of this writes can be read by another user.
process.umask(0o077)

try {
  await start()
} catch (error) {
  console.error(error instanceof Problem ? `\n${error.message}` : error)
  process.exitCode = 1
}

/** Serves until it is told to stop. Throws when it cannot, or when a part of it ends by itself. */
async function start(): Promise<void> {
  const { host, port, grpcPort, readyFile, ...config } = readSettings()
  const stop = stopSignals()
  const dataDir = relative('', config.dataDir) || '.'
  const file = (name: string) => join(dataDir, name)
  if (readyFile) {
    await readyFileCanBeMade(readyFile)
    await rm(readyFile, { force: true })
  }
  await portIsFree('PORT', host, port)
  await portIsFree('GRPC_PORT', host, grpcPort ?? 0)
  await makeDataDir(dataDir)

  await using parts = new AsyncDisposableStack()
  console.log('Starting the database')
  const database = await openDatabase(process.env.DATABASE_URL, dataDir)
  parts.defer(database.stop)
  const encryptionKeys = process.env.ENCRYPTION_KEYS || (await keep(file('encryption.keys'), makeEncryptionKey))
  await writePrivately(file('database.json'), JSON.stringify({ url: database.url }))
  console.log('Preparing its tables, an account and keys')
  await applyMigrations(database.url).catch(tellUnreachable)
  const keys = await seed({ databaseUrl: database.url, encryptionKeys, keysFile: file('keys.json') })

  // What it has to tell stands not between the lines that say what runs: `ready` is to be the last of them.
  const tell = console.error
  const temporal = await openTemporal({ dataDir, anyPorts: port === 0, tell, given: config })
  parts.defer(temporal.stop)
  await writePrivately(file('temporal.json'), JSON.stringify({ address: temporal.address }))

  console.log('Starting the API and the worker\n')
  const given = { DATABASE_URL: database.url, ENCRYPTION_KEYS: encryptionKeys, VERDICT_READY_FILE: '' }
  const logs = { api: file('verdict.log'), worker: file('worker.log') }
  const { WEBHOOK_ALLOW_SUBNETS = THIS_MACHINE } = process.env
  const services = await startServices({ ...process.env, ...temporal.env, ...given, WEBHOOK_ALLOW_SUBNETS }, logs)
  // Without their database they could only hold their callers until their time is up: nothing can be stored any more.
  parts.defer(() => services.drain([stop.second, database.lost]))
  const end = Promise.race([stop.first.then(() => undefined), services.ended, database.lost])
  const ready = await Promise.race([services.ready, end.then(() => undefined)])
  if (ready) {
    const temporalUiUrl = temporal.uiUrl
    // By which the command line finds this instance on any port.
    await writePrivately(file('instance.json'), JSON.stringify({ url: ready.url }))
    if (readyFile) await tellPrograms(readyFile, { ...ready, temporalUiUrl, keys })
    const facts = { keys, temporalUiUrl, database: database.where, webhookSubnets: WEBHOOK_ALLOW_SUBNETS, logs }
    console.log(welcome({ url: ready.url, ...facts }))
    console.log(`ready ${ready.url}`)
  }
  const fault = await end
  if (fault) {
    // Now, not when everything has ended.
    console.error(`\n${fault}`)
    process.exitCode = 1
  } else console.log('\nStopping: what was accepted is finished first. Another Ctrl-C does not wait for it.')
}

interface Served {
  url: string
  grpcUrl: string
  temporalUiUrl: string | undefined
  keys: Keys
}

async function tellPrograms(readyFile: string, { url, grpcUrl, temporalUiUrl, keys }: Served): Promise<void> {
  const facts = { url, grpc_url: grpcUrl, temporal_ui_url: temporalUiUrl, keys, pid: process.pid }
  await writePrivately(readyFile, JSON.stringify(facts))
}

function tellUnreachable(error: unknown): never {
  const failure = databaseFailure(error)
  if (!failure) throw error
  throw new Problem(
    `${failure.message}\nSet DATABASE_URL right, or leave it out: npm start then brings a database of its own.`,
    { cause: error },
  )
}

function makeEncryptionKey(): string {
  return `dev:${randomBytes(32).toString('base64')}`
}

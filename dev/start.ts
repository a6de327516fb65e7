import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { databaseFailure } from '../cli/database.ts'
import { ownDatabase } from '../cli/environment.ts'
import { applyMigrations } from '../server/db/migrations.ts'
import { stopSignals, surviveHangUp } from '../server/process/stop-signals.ts'
import { openDatabase } from './postgres/open.ts'
import { readOrCreate, writePrivately } from './private-file.ts'
import { Problem } from './problem.ts'
import { type Keys, seed } from './seed.ts'
import { startServices } from './services.ts'
import { setUpLink } from './set-up-link.ts'
import { checkPort, checkReadyFile, createDataDir, readSettings, THIS_MACHINE } from './settings.ts'
import { openTemporal } from './temporal/open.ts'
import { welcome } from './welcome.ts'

// `npm start`: runs everything on one machine without configuration. What the environment configures is used instead.

surviveHangUp()

// Keys, messages and logs are private: no other user can read a file that any of these processes writes.
process.umask(0o077)

const STOPPED_EARLY = '\nStopped before it was ready.'

try {
  await startAll()
} catch (error) {
  console.error(error instanceof Problem ? `\n${error.message}` : error)
  process.exitCode = 1
}

/** Starts all parts, and runs until a signal arrives or a part ends by itself. Throws when a part cannot start. */
async function startAll(): Promise<void> {
  const { config, given } = readSettings()
  const { host, port, readyFile } = config
  const stop = stopSignals()
  const isStopped = async () => (await Promise.race([stop.first, Promise.resolve()])) !== undefined
  const dataDir = relative('', config.dataDir) || '.'
  const file = (name: string) => join(dataDir, name)
  if (readyFile) {
    await checkReadyFile(readyFile)
    await rm(readyFile, { force: true })
  }
  await checkPort('PORT', host, port)
  await createDataDir(dataDir)

  await using parts = new AsyncDisposableStack()
  console.log('Starting the database')
  // Ctrl-C reaches initdb, too, which then fails.
  const database = await openDatabase(given.databaseUrl, dataDir).catch(async (error) => {
    if (!(await isStopped())) throw error
  })
  if (database) parts.defer(database.stop)
  if (!database || (await isStopped())) return console.log(STOPPED_EARLY)
  const encryptionKeys = given.encryptionKeys ?? (await readOrCreate(file('encryption.keys'), createEncryptionKey))
  await writePrivately(file('database.json'), JSON.stringify({ url: database.url }))
  console.log('Preparing its tables, an account and keys')
  await applyMigrations(database.url).catch(throwUnreachable)
  const keys = await seed({ databaseUrl: database.url, encryptionKeys, keysFile: file('keys.json') })
  if (await isStopped()) return console.log(STOPPED_EARLY)

  // Temporal's progress goes to standard error: on standard output, `ready` must be the last line.
  const report = console.error
  const temporal = await openTemporal({ dataDir, anyPorts: port === 0, report, config })
  parts.defer(temporal.stop)
  await writePrivately(file('temporal.json'), JSON.stringify({ address: temporal.address }))

  console.log('Starting the API and the worker\n')
  const own = { DATABASE_URL: database.url, ENCRYPTION_KEYS: encryptionKeys, VERDICT_READY_FILE: '' }
  const noFiles = { DATABASE_URL_FILE: '', ENCRYPTION_KEYS_FILE: '' }
  const logs = { api: file('verdict.log'), worker: file('worker.log') }
  const { WEBHOOK_ALLOW_SUBNETS = THIS_MACHINE } = process.env
  const { SIMULATOR_INBOX = 'true' } = process.env
  const choices = { WEBHOOK_ALLOW_SUBNETS, SIMULATOR_INBOX }
  const anyPorts = port === 0 ? { METRICS_PORT: '0', WORKER_METRICS_PORT: '0' } : {}
  const env = { ...anyPorts, ...process.env, ...temporal.env, ...own, ...noFiles, ...choices }
  const services = await startServices(env, logs)
  // Without the database nothing can be stored: a drain would only keep callers waiting until their deadlines.
  parts.defer(() => services.drain([stop.second, database.lost]))
  const end = Promise.race([stop.first.then(() => undefined), services.ended, database.lost])
  const ready = await Promise.race([services.ready, end.then(() => undefined)])
  if (ready) {
    const temporalUiUrl = temporal.uiUrl
    // The command line reads this file to find the instance on any port.
    await writePrivately(file('instance.json'), JSON.stringify({ url: ready.url }))
    const publicUrl = config.publicUrl ?? ready.url
    const dashboard = `${publicUrl}/dashboard`
    if (readyFile) await writeReadyFile(readyFile, { ...ready, dashboard, temporalUiUrl, keys })
    const facts = {
      smtp: ready.smtpPort === undefined ? undefined : `${config.smtpFrontHost}:${ready.smtpPort}`,
      lmtp: ready.lmtpPort === undefined ? undefined : `${config.smtpFrontHost}:${ready.lmtpPort}`,
      dashboard,
      setUpLink: await setUpLink(database.url, publicUrl),
      keys,
      temporalUiUrl,
      database: database.where,
      webhookSubnets: WEBHOOK_ALLOW_SUBNETS,
      logs,
    }
    console.log(welcome({ url: ready.url, ...facts }))
    console.log(`ready ${ready.url}`)
  }
  const fault = await end
  if (fault) {
    // Printed before the drain, which can take long.
    console.error(`\n${fault}`)
    process.exitCode = 1
  } else console.log('\nStopping after the accepted requests have finished. Press Ctrl-C again to stop at once.')
}

interface ReadyFacts {
  url: string
  metricsUrl: string | undefined
  dashboard: string
  temporalUiUrl: string | undefined
  keys: Keys
}

async function writeReadyFile(readyFile: string, facts: ReadyFacts): Promise<void> {
  const { url, metricsUrl, dashboard, temporalUiUrl, keys } = facts
  const urls = {
    url,
    grpc_url: url,
    metrics_url: metricsUrl,
    dashboard_url: dashboard,
    temporal_ui_url: temporalUiUrl,
  }
  await writePrivately(readyFile, JSON.stringify({ ...urls, keys, pid: process.pid }))
}

function throwUnreachable(error: unknown): never {
  const failure = databaseFailure(error)
  if (!failure) throw error
  const wayOut = '\nCorrect DATABASE_URL, or remove it: npm start then runs its own database.'
  throw new Problem(failure.message + (ownDatabase() ? wayOut : ''), { cause: error })
}

function createEncryptionKey(): string {
  return `dev:${randomBytes(32).toString('base64')}`
}

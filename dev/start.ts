import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { reachability } from '../server/cli/database-errors.ts'
import { applyMigrations } from '../server/db/migrations.ts'
import { startApi } from './api-process.ts'
import { openDatabase } from './database.ts'
import { keep, writePrivately } from './private-file.ts'
import { Problem } from './problem.ts'
import { seed } from './seed.ts'
import { makeDataDir, portIsFree, readSettings, readyFileCanBeMade } from './settings.ts'
import { stopSignals } from './stop-signals.ts'
import { welcome } from './welcome.ts'

// `npm start`: everything on one machine with nothing configured. What the environment does configure is used instead.

// A terminal that was closed is no reason to skip the way down.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

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

  console.log('Starting the API\n')
  const given = { DATABASE_URL: database.url, ENCRYPTION_KEYS: encryptionKeys, VERDICT_READY_FILE: '' }
  const api = await startApi({ ...process.env, ...given }, file('verdict.log'))
  parts.defer(async () => {
    api.drain()
    // Without its database it could only hold its callers until their time is up: nothing can be stored any more.
    for (const event of [stop.second, database.lost]) event.then(api.kill)
    await api.gone
  })
  const end = Promise.race([stop.first, api.gone, database.lost])
  const ready = await Promise.race([api.ready, end.then(() => undefined)])
  if (ready) {
    const { url, grpcUrl } = ready
    if (readyFile) {
      await writePrivately(readyFile, JSON.stringify({ url, grpc_url: grpcUrl, keys, pid: process.pid }))
    }
    console.log(welcome({ url, keys, database: database.where, log: file('verdict.log') }))
    console.log(`ready ${url}`)
  }
  const fault = await end
  if (fault) {
    // Now, not when everything has ended.
    console.error(`\n${fault}`)
    process.exitCode = 1
  } else console.log('\nStopping: what was accepted is finished first. Another Ctrl-C does not wait for it.')
}

function tellUnreachable(error: unknown): never {
  const failure = reachability(error)
  if (!failure) throw error
  throw new Problem(
    `${failure.message}\nSet DATABASE_URL right, or leave it out: npm start then brings a database of its own.`,
    { cause: error },
  )
}

function makeEncryptionKey(): string {
  return `dev:${randomBytes(32).toString('base64')}`
}

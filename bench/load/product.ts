import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { seed } from '../../dev/seed.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { type DatabaseOptions, startDatabase } from './database.ts'
import type { Storage } from './endpoints.ts'
import type { Sink } from './sink.ts'

export interface Product extends Storage, AsyncDisposable {
  port: number
  /** The ports of all API processes; `port` is the first. */
  ports: number[]
  /** The API key of an account that may send from `example.test`. */
  key: string
  apiPid: number
  /** The processes of all APIs; `apiPid` is the first. */
  apiPids: number[]
  /** The metrics of the first API process. */
  metricsUrl: string
  postgresPid: number
  /** The folder of the database, with its log. */
  databaseDir: string
  /** Starts one more API process. */
  startApi(env?: Record<string, string>): Promise<{ pid: number; port: number }>
}

const API = fileURLToPath(new URL('../../server/main.ts', import.meta.url))

interface ProductOptions extends DatabaseOptions {
  nodes?: number
  /** The server of mail for `others.test`. */
  others?: Pick<Sink, 'port'>
  /** Additional environment variables. */
  env?: Record<string, string>
}

/**
 * Starts `nodes` API processes over a PostgreSQL, without logs. The database is fresh unless it is kept. Mail for
 * `to.test` goes to the sink.
 */
export async function startProduct(
  sink: Sink,
  { nodes = 1, others, env, ...databaseOptions }: ProductOptions = {},
): Promise<Product> {
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await startDatabase(databaseOptions))
  const storage = { databaseUrl: database.url, encryptionKeys: await keptKeys(database.dir) }
  await applyMigrations(database.url)
  const keys = await seed({ ...storage, keysFile: join(database.dir, 'keys.json') })
  const variables = {
    ...variablesOf(storage),
    SMTP_ROUTES: [`to.test=127.0.0.1:${sink.port}`, ...(others ? [`others.test=127.0.0.1:${others.port}`] : [])].join(),
    ...env,
  }
  const apis = await Promise.all(Array.from({ length: nodes }, () => startOurs<ApiReady>(API, variables, parts)))
  const ports = apis.map(({ ready }) => Number(new URL(ready.ready).port))
  const started = parts.move()
  return {
    ...storage,
    port: ports[0]!,
    ports,
    key: keys.live,
    apiPid: apis[0]!.pid,
    apiPids: apis.map(({ pid }) => pid),
    metricsUrl: apis[0]!.ready.metricsUrl,
    postgresPid: database.pid,
    databaseDir: database.dir,
    async startApi(env) {
      const { pid, ready } = await startOurs<ApiReady>(API, { ...variables, ...env }, started)
      return { pid, port: Number(new URL(ready.ready).port) }
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

interface ApiReady {
  /** The URL of the API. */
  ready: string
  metricsUrl: string
}

/** The encryption keys of a database, which are kept beside it. */
async function keptKeys(dir: string): Promise<string> {
  const file = join(dir, 'encryption-keys')
  const kept = await readFile(file, 'utf8').catch(() => undefined)
  if (kept !== undefined) return kept
  const keys = newEncryptionKeys()
  await writeFile(file, keys)
  return keys
}

export const newEncryptionKeys = () => `bench:${randomBytes(32).toString('base64')}`

/** The environment of every process of the product. Webhooks may go to this machine. */
export const variablesOf = ({ databaseUrl, encryptionKeys }: Storage): Record<string, string> => ({
  PORT: '0',
  METRICS_PORT: '0',
  WORKER_METRICS_PORT: '0',
  DATABASE_URL: databaseUrl,
  ENCRYPTION_KEYS: encryptionKeys,
  WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
  LOG_LEVEL: 'fatal',
})

/** Starts a process of the product. Resolves with its first message, which says that it is ready. */
export async function startOurs<Ready>(
  file: string,
  variables: Record<string, string>,
  parts: AsyncDisposableStack,
): Promise<{ pid: number; ready: Ready }> {
  // NODE_OPTIONS such as `--cpu-prof` apply to all processes.
  const env = { PATH: process.env.PATH, NODE_OPTIONS: process.env.NODE_OPTIONS, ...variables }
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const gone = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  parts.defer(async () => {
    process.off('exit', kill)
    child.kill('SIGTERM')
    await gone
  })
  const ended = gone.then(() => Promise.reject(new Error(`${file} ended`)))
  const [ready] = await Promise.race([once(child, 'message'), ended])
  return { pid: child.pid!, ready }
}

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { seed } from '../../dev/seed.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { startDatabase } from './database.ts'
import type { Sink } from './sink.ts'

export interface Product extends AsyncDisposable {
  port: number
  /** Of every process, the first one's before. */
  ports: number[]
  /** Of an account that may send from `example.test`. */
  key: string
  databaseUrl: string
  apiPid: number
  postgresPid: number
}

const MAIN = fileURLToPath(new URL('../../server/main.ts', import.meta.url))

/** So many API processes over a fresh embedded PostgreSQL; mail for `to.test` goes to the sink, for `others.test` to `others`. Nothing is logged. */
export async function startProduct(
  sink: Sink,
  { nodes = 1, others }: { nodes?: number; others?: Sink } = {},
): Promise<Product> {
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await startDatabase())
  const encryptionKeys = `bench:${randomBytes(32).toString('base64')}`
  await applyMigrations(database.url)
  const keys = await seed({ databaseUrl: database.url, encryptionKeys, keysFile: join(database.dir, 'keys.json') })

  const env = {
    PATH: process.env.PATH,
    // `--cpu-prof`, for example.
    NODE_OPTIONS: process.env.NODE_OPTIONS,
    PORT: '0',
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: encryptionKeys,
    SMTP_ROUTES: [`to.test=127.0.0.1:${sink.port}`, ...(others ? [`others.test=127.0.0.1:${others.port}`] : [])].join(),
    LOG_LEVEL: 'fatal',
  }
  const apis = await Promise.all(Array.from({ length: nodes }, () => startApi(env, parts)))
  const started = parts.move()
  return {
    port: apis[0]!.port,
    ports: apis.map(({ port }) => port),
    key: keys.live,
    databaseUrl: database.url,
    apiPid: apis[0]!.pid,
    postgresPid: database.pid,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function startApi(env: NodeJS.ProcessEnv, parts: AsyncDisposableStack): Promise<{ port: number; pid: number }> {
  const api = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const gone = once(api, 'exit')
  const kill = () => api.kill('SIGKILL')
  process.once('exit', kill)
  parts.defer(async () => {
    process.off('exit', kill)
    api.kill('SIGTERM')
    await gone
  })
  const [{ ready }] = await Promise.race([
    once(api, 'message'),
    gone.then(() => Promise.reject(new Error('The API ended'))),
  ])
  return { port: Number(new URL(ready).port), pid: api.pid! }
}

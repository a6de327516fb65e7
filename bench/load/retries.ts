import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { schedule } from '../../server/config/values.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { startDatabase } from './database.ts'
import { makeEndpoints, type Place } from './endpoints.ts'
import { type EventsMade, type Stream, startFirstAttempts } from './first-attempts.ts'
import { newEncryptionKeys, startOurs, variablesOf } from './product.ts'
import { startTemporal } from './temporal.ts'
import { until } from './until.ts'

const WORKER = fileURLToPath(new URL('../../workflows/worker.ts', import.meta.url))

/** The worker process of a product. */
export async function startRetryWorker(
  place: Place,
  webhooks: { temporalAddress: string; schedule: string },
  parts: AsyncDisposableStack,
): Promise<void> {
  const more = { TEMPORAL_ADDRESS: webhooks.temporalAddress, WEBHOOK_SCHEDULE: webhooks.schedule }
  await startOurs(WORKER, { ...variablesOf(place), ...more }, parts)
}

export interface Retries extends AsyncDisposable {
  /** Of each URL, a UUID. */
  accountIds: string[]
  make(streams: Stream[]): Promise<EventsMade>
  /** Resolves when no dispatch waits. */
  drained(): Promise<void>
  /** How many dispatches ended. */
  ends(): Promise<{ acknowledged: number; otherwise: number }>
  workflows(): Promise<number>
}

/** First attempts, and all that follows when they fail: the worker and Temporal. `urls` are endpoints, each of an account of its own. */
export async function startRetries(urls: readonly string[], delays: string): Promise<Retries> {
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await startDatabase())
  await applyMigrations(database.url)
  const place = { databaseUrl: database.url, encryptionKeys: newEncryptionKeys() }
  const accountIds = await makeEndpoints(place, urls)
  const temporal = parts.use(await startTemporal())
  const events = parts.use(await startFirstAttempts({ ...place, nextDelayMs: schedule(delays)[1] }))
  await startRetryWorker(place, { temporalAddress: temporal.address, schedule: delays }, parts)
  const dispatches = watchDispatches(database.url, parts)
  const started = parts.move()
  return {
    accountIds,
    make: events.ask,
    ...dispatches,
    workflows: temporal.workflows,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

export function watchDispatches(databaseUrl: string, parts: AsyncDisposableStack) {
  const sql = postgres(databaseUrl, { max: 1 })
  parts.defer(() => sql.end())
  const waiting = async () => Number((await sql`select count(*) from open_dispatches`)[0]!.count)
  return {
    waiting,
    drained: () => until('end every dispatch', async () => (await waiting()) === 0, 180_000),
    async ends() {
      const [row] = await sql`
        select count(*) filter (where state = 'acknowledged') as acknowledged, count(*) filter (where state <> 'acknowledged') as otherwise
        from dispatches`
      return { acknowledged: Number(row!.acknowledged), otherwise: Number(row!.otherwise) }
    },
  }
}

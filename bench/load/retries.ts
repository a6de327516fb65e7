import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { schedule } from '../../server/config/values.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { startDatabase } from './database.ts'
import { createEndpoints, type Storage } from './endpoints.ts'
import { type CreatedEvents, type Stream, startFirstAttempts } from './first-attempts.ts'
import { newEncryptionKeys, startOurs, variablesOf } from './product.ts'
import { startTemporal } from './temporal.ts'
import { until } from './until.ts'

const WORKER = fileURLToPath(new URL('../../workflows/worker.ts', import.meta.url))

/** Starts the worker process of the product. */
export async function startRetryWorker(
  storage: Storage,
  webhooks: { temporalAddress: string; schedule: string },
  parts: AsyncDisposableStack,
): Promise<void> {
  const more = { TEMPORAL_ADDRESS: webhooks.temporalAddress, WEBHOOK_SCHEDULE: webhooks.schedule }
  await startOurs(WORKER, { ...variablesOf(storage), ...more }, parts)
}

export interface Retries extends AsyncDisposable {
  /** The account of each URL (UUIDs). */
  accountIds: string[]
  createEvents(streams: Stream[]): Promise<CreatedEvents>
  /** Starts the worker: until then, events whose first attempt failed wait. */
  startWorker(): Promise<void>
  /** Failed dispatches that wait for the start of their workflow. */
  countUnstarted(): Promise<number>
  /** Resolves when every dispatch has ended. */
  untilDrained(): Promise<void>
  /** How many dispatches ended acknowledged, and how many otherwise. */
  countEnds(): Promise<{ acknowledged: number; otherwise: number }>
  workflows(): Promise<number>
}

/** Starts first attempts, and Temporal for those that fail. Each URL is the endpoint of an account. */
export async function startRetries(urls: readonly string[], delays: string): Promise<Retries> {
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await startDatabase())
  await applyMigrations(database.url)
  const storage = { databaseUrl: database.url, encryptionKeys: newEncryptionKeys() }
  const accountIds = await createEndpoints(storage, urls)
  const temporal = parts.use(await startTemporal())
  const events = parts.use(await startFirstAttempts({ ...storage, nextDelayMs: schedule(delays)[1] }))
  const dispatches = watchDispatches(database.url, parts)
  const started = parts.move()
  const webhooks = { temporalAddress: temporal.address, schedule: delays }
  return {
    accountIds,
    createEvents: events.ask,
    startWorker: () => startRetryWorker(storage, webhooks, started),
    ...dispatches,
    workflows: temporal.workflows,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

export function watchDispatches(databaseUrl: string, parts: AsyncDisposableStack) {
  const sql = postgres(databaseUrl, { max: 1 })
  parts.defer(() => sql.end())
  const countOpen = async () => Number((await sql`select count(*) from open_dispatches`)[0]!.count)
  const countUnstarted = async () =>
    Number((await sql`select count(*) from open_dispatches where attempt > 1 and handed_over_at is null`)[0]!.count)
  return {
    countOpen,
    countUnstarted,
    untilDrained: () => until('every dispatch has ended', async () => (await countOpen()) === 0, 180_000),
    async countEnds() {
      const [row] = await sql`
        select
          count(*) filter (where state = 'acknowledged') as acknowledged,
          count(*) filter (where state <> 'acknowledged') as otherwise
        from dispatches`
      return { acknowledged: Number(row!.acknowledged), otherwise: Number(row!.otherwise) }
    },
  }
}

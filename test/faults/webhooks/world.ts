import { setTimeout as sleep } from 'node:timers/promises'
import type { PostEntry, WebhookLogs } from '../../reliability/logs.ts'
import type { Client } from '../client.ts'
import { startWorld } from '../world.ts'
import { type Hook, startHook } from './receivers.ts'
import { openTemporalPlace } from './temporal.ts'
import { startWorker, type Worker } from './worker.ts'

export type WebhookWorld = Awaited<ReturnType<typeof startWebhookWorld>>

const SETTLED_WITHIN_MS = 90_000

/**
 * A world with a Temporal, receivers and as many workers as a test starts. `scheduleMs` is the retry schedule: short, so that
 * everything ends while a test waits.
 */
export async function startWebhookWorld({ scheduleMs = [0, 300, 600, 1_000] }: { scheduleMs?: number[] } = {}) {
  const temporal = await openTemporalPlace()
  const world = await startWorld({
    env: {
      TEMPORAL_ADDRESS: temporal.address,
      WEBHOOK_SCHEDULE: scheduleMs.map((ms) => `${ms}ms`).join(),
      WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    },
  })
  const webhooks: WebhookLogs = { scheduleMs, posts: [], endpoints: [], replays: [] }
  world.logs.webhooks = webhooks
  const hooks: Hook[] = []
  const workers = new Set<Worker>()
  let names = 0

  async function openHook(answer?: Hook['answer']): Promise<Hook> {
    const hook = await startHook(webhooks.posts, answer)
    hooks.push(hook)
    return hook
  }

  async function work(): Promise<Worker> {
    const worker = await startWorker(`worker-${++names}`, { ...world, databaseUrl: world.database.url })
    workers.add(worker)
    worker.ended.then(() => workers.delete(worker))
    return worker
  }

  /** Until nothing waits but for attempts that are a while away. What does not come to that is for the verdict to find. */
  async function settled(): Promise<void> {
    const deadline = performance.now() + SETTLED_WITHIN_MS
    for (; performance.now() < deadline; await sleep(100)) {
      const [row] = await world.sql`
        select count(*)::int as waiting from open_dispatches
        where handed_over_at is null or due_at < clock_timestamp() + interval '5 seconds'`
      if (row!.waiting === 0) return
    }
  }

  async function stop(): Promise<void> {
    for (const worker of workers) worker.kill()
    await Promise.all(Array.from(workers, ({ ended }) => ended))
    await world.stop()
    await Promise.all([temporal.drop(), ...hooks.map((hook) => hook.close())])
  }

  const posts = (): PostEntry[] => webhooks.posts
  return {
    ...world,
    world,
    temporal,
    webhooks,
    posts,
    openHook,
    work,
    settled,
    verdict: () => world.verdict(settled),
    stop,
  }
}

/** The endpoint of an account, through the API; how it was set goes into the log. */
export function endpointOf({ webhooks }: WebhookWorld, account: string) {
  let known: { url?: string; secret?: string } = {}

  async function change(client: Client, method: string, path: string, body?: object): Promise<void> {
    const sentMs = Date.now()
    const answer = await client.ask(method, `/api/v1/webhook${path}`, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    const { url, secret = known.secret } = answer.body as { url?: string; secret?: string }
    known = url === undefined ? {} : { url, secret }
    webhooks.endpoints.push({ account, ...known, sentMs, respondedMs: Date.now() })
  }

  return {
    put: (client: Client, url: string) => change(client, 'PUT', '', { url }),
    rotate: (client: Client) => change(client, 'POST', '/secret/rotate'),
    delete: (client: Client) => change(client, 'DELETE', ''),
  }
}

/** Asks for a replay of an event or a message; the answer goes into the log. */
export async function replay({ webhooks }: WebhookWorld, client: Client, of: string) {
  const entry: WebhookLogs['replays'][number] = { of, sentAtMs: performance.now() }
  webhooks.replays.push(entry)
  const path = of.startsWith('evt_') ? `/api/v1/events/${of}/replay` : `/api/v1/messages/${of}/replay`
  try {
    const { status, body } = await client.ask('POST', path)
    Object.assign(entry, { status, body })
  } catch {
    // The connection ended without an answer.
  }
  return entry
}

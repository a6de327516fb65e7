import { untilEnd } from '../../harness/until-end.ts'
import { pauseFor } from '../../harness/waits.ts'
import type { PostEntry, WebhookLogs } from '../../reliability/logs.ts'
import type { Client } from '../client.ts'
import { startFaultWorld, type WorldOptions } from '../world.ts'
import { type Hook, startHook } from './receivers.ts'
import { openTemporalPlace } from './temporal.ts'
import { startWorker, type Worker } from './worker.ts'

export type WebhookWorld = Awaited<ReturnType<typeof startWebhookWorld>>
/** A world with a Temporal that the test brings. */
export type WebhookWorldAt = Awaited<ReturnType<typeof startWebhookWorldAt>>

interface WebhookWorldOptions extends Pick<WorldOptions, 'database' | 'openAccount' | 'mail' | 'env'> {
  scheduleMs?: number[]
  /** The endpoints of an account beside the first one, which asks for all events. They respond as its receiver does. */
  others?: Filters[]
  /** How long a verdict waits for the end of dispatches. */
  settleTimeoutMs?: number
}

interface Filters {
  statuses?: string[]
}

/** Further endpoints that ask for all events, as the first one. */
export const ALIKE: Filters[] = [{}, {}]
/** Further endpoints of which exactly one asks for each event. */
export const BY_STATUS: Filters[] = [{ statuses: ['bounced', 'rejected'] }, { statuses: ['delivered'] }]

const SETTLE_TIMEOUT_MS = 90_000

/**
 * Starts a world with a Temporal. A test opens as many receivers and starts as many workers as it needs. `scheduleMs`
 * is the retry schedule, which is short so that every dispatch ends during the test. By default an account has one
 * endpoint.
 */
export async function startWebhookWorld(options: WebhookWorldOptions = {}) {
  const temporal = await openTemporalPlace()
  return untilEnd({ ...(await startWebhookWorldAt(temporal, options)), temporal })
}

/** Starts such a world on a Temporal that runs already, and drops that in the end. */
export async function startWebhookWorldAt(
  temporal: { address: string; drop(): Promise<void> },
  options: WebhookWorldOptions = {},
) {
  const {
    scheduleMs = [0, 300, 600, 1_000],
    others = [],
    database,
    openAccount,
    mail,
    env,
    settleTimeoutMs = SETTLE_TIMEOUT_MS,
  } = options
  const world = await startFaultWorld({
    database,
    openAccount,
    mail,
    env: {
      ...env,
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

  async function openHook(respond?: Hook['respond']): Promise<Hook> {
    const hook = await startHook(webhooks.posts, respond)
    hooks.push(hook)
    return hook
  }

  /** Starts a worker, of another release when `root` is its folder. */
  async function work(root?: string): Promise<Worker> {
    const worker = await startWorker(`worker-${++names}`, { ...world, databaseUrl: world.database.url, root })
    workers.add(worker)
    worker.ended.then(() => workers.delete(worker))
    return worker
  }

  /**
   * Waits until no dispatch has an attempt due soon. After the timeout it returns too, and the verdict finds what is
   * wrong.
   */
  async function waitUntilSettled(): Promise<void> {
    const deadline = performance.now() + settleTimeoutMs
    for (; performance.now() < deadline; await pauseFor(100)) {
      const [row] = await world.sql`
        select count(*)::int as waiting from open_dispatches
        where handed_over_at is null or due_at < clock_timestamp() + interval '5 seconds'`
      if (row!.waiting === 0) return
    }
  }

  async function verdict(): Promise<string[]> {
    const violations = await world.verdict(waitUntilSettled)
    if (violations.length > 0) for (const { name, output } of workers) console.log(`${name}\n${output().slice(-4_000)}`)
    return violations
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
    webhooks,
    others,
    posts,
    hookAt: (url: string): Hook => hooks.find((hook) => hook.url === url)!,
    openHook,
    work,
    waitUntilSettled,
    verdict,
    stop,
  }
}

/**
 * Changes the first endpoint of an account through the API, and logs every change. The first `put` creates the other
 * endpoints of the account.
 */
export function endpointOf(run: WebhookWorldAt, account: string) {
  const { webhooks, others, hookAt, openHook } = run
  let current: Omit<EndpointResponse, 'endpoint_id'> = {}
  let endpoint = ''
  let areOthersMade = false

  async function request(client: Client, method: string, path: string, body?: object) {
    const sentMs = Date.now()
    const response = await client.request(method, `/api/v1${path}`, body)
    if (response.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(response)}`)
    return { body: response.body as EndpointResponse, times: { sentMs, respondedMs: Date.now() } }
  }

  async function change(client: Client, method: string, path: string, body?: object): Promise<void> {
    const { body: changed, times } = await request(client, method, `/webhook${path}`, body)
    const { url, secret = current.secret } = changed
    current = url === undefined ? {} : { url, secret }
    // The response of a deletion names no endpoint.
    endpoint = changed.endpoint_id ?? endpoint
    webhooks.endpoints.push({ account, endpoint, ...current, ...times })
  }

  async function makeOthers(client: Client, first: Hook): Promise<void> {
    for (const filters of others) {
      const { url } = await openHook((post, attempt) => first.respond(post, attempt))
      const { body, times } = await request(client, 'POST', '/webhooks', { url, ...filters })
      const { endpoint_id, secret } = body
      webhooks.endpoints.push({ account, endpoint: endpoint_id!, url, secret, ...filters, ...times })
    }
  }

  /** Disables the last endpoint: it gets no further events, and its waiting dispatches go on. */
  async function disableLast(client: Client): Promise<string> {
    const last = webhooks.endpoints.findLast((entry) => entry.account === account && entry.endpoint !== endpoint)!
    const { times } = await request(client, 'PATCH', `/webhooks/${last.endpoint}`, { disabled: true })
    webhooks.endpoints.push({ ...last, disabled: true, ...times })
    return last.endpoint
  }

  /** Returns the id of the endpoint. */
  async function put(client: Client, url: string): Promise<string> {
    await change(client, 'PUT', '', { url })
    if (!areOthersMade) await makeOthers(client, hookAt(url))
    areOthersMade = true
    return endpoint
  }

  return {
    put,
    disableLast,
    rotate: (client: Client) => change(client, 'POST', '/secret/rotate'),
    delete: (client: Client) => change(client, 'DELETE', ''),
  }
}

interface EndpointResponse {
  endpoint_id?: string
  url?: string
  secret?: string
}

/** Requests a replay of an event or a message, and logs the response. */
export async function replay({ webhooks }: WebhookWorldAt, client: Client, of: string) {
  const entry: WebhookLogs['replays'][number] = { of, sentAtMs: performance.now() }
  webhooks.replays.push(entry)
  const path = of.startsWith('evt_') ? `/api/v1/events/${of}/replay` : `/api/v1/messages/${of}/replay`
  try {
    const { status, body } = await client.request('POST', path)
    Object.assign(entry, { status, body })
  } catch {
    // The connection ended without a response.
  }
  return entry
}

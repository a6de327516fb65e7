import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { freePort } from '../../dev/ports.ts'
import { type DeliveryEvent, PAYLOAD_VERSION } from '../../server/db/delivery-event.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { payloadOf } from '../../server/webhooks/attempt/payload.ts'
import { startDatabase } from './database.ts'
import { installPackages } from './debian.ts'
import { buildOutpost } from './outpost-package.ts'
import { startRabbit, startRedis } from './outpost-servers.ts'
import type { Pace } from './pace.ts'
import { startPosts } from './posts.ts'
import type { Receiver } from './receiver.ts'
import { startServer } from './server.ts'
import { until } from './until.ts'

const TENANT = 'bench'
const TOPIC = 'email.delivery'

export interface Outpost extends AsyncDisposable {
  /** The processes of Outpost, Redis, RabbitMQ and PostgreSQL. */
  pids: number[]
  /** Publishes events. Resolves, with the time each event was due, when their attempts are stored. */
  publish(pace: Pace): Promise<[eventId: string, atMs: number][]>
}

/**
 * Starts Hookdeck's Outpost, which posts published events to the receiver's endpoint `outpost`. It makes 200 deliveries
 * at a time: more were no faster, and fewer were slower. Its PostgreSQL is like the product's.
 */
export async function startOutpost(receiver: Receiver): Promise<Outpost> {
  installPackages(['redis-server', 'rabbitmqctl', 'epmd'], ['redis-server', 'rabbitmq-server'])
  const programs = buildOutpost()
  await using parts = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), 'verdict-bench-outpost-'))
  parts.defer(() => rmSync(dir, { recursive: true, force: true }))

  const database = parts.use(await startDatabase())
  const redis = await startRedis(join(dir, 'redis'), parts)
  const rabbit = await startRabbit(join(dir, 'rabbit'), parts)
  const port = await freePort()
  // Outpost listens on all addresses and has no setting for that, so it needs a key.
  const key = randomBytes(16).toString('hex')
  const env = environment({ port, key, redisPort: redis.port, rabbitPort: rabbit.port, databaseUrl: database.url })
  const home = join(dir, 'outpost')
  mkdirSync(home)
  execFileSync(join(programs, 'outpost'), ['migrate', 'apply', '--yes'], { cwd: home, env, stdio: 'ignore' })
  const server = parts.use(await startServer(join(programs, 'outpost-server'), [], { dir: home, env }))
  await untilHealthy(port)
  await configure(port, key, receiver.url('outpost'))

  const publisher = parts.use(await startPosts())
  const sql = postgres(database.url, { max: 1 })
  parts.defer(() => sql.end())
  const countAttempts = async () => Number((await sql`select count(*) from attempts`)[0]!.count)
  const started = parts.move()
  return {
    pids: [server.pid, redis.pid, rabbit.pid, database.pid],
    async publish(pace) {
      const before = await countAttempts()
      const events = Array.from({ length: pace.events }, newEvent)
      const bodies = events.map((event) => `{"tenant_id":"${TENANT}","topic":"${TOPIC}","data":${payloadOf(event)}}`)
      const responses = await publisher.ask({ port, key, path: '/api/v1/publish', bodies, pace })
      const refused = responses.find(({ status }) => status !== 202)
      if (refused) throw new Error(`Outpost responded ${refused.status}: ${refused.body}`)
      await until('every published event has arrived', async () => (await receiver.count()) >= pace.events)
      await until('every attempt is stored', async () => (await countAttempts()) >= before + pace.events)
      return responses.map(({ dueMs }, i) => [publicId('evt', events[i]!.id), dueMs])
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

function environment(options: {
  port: number
  key: string
  redisPort: number
  rabbitPort: number
  databaseUrl: string
}) {
  return {
    API_PORT: String(options.port),
    API_KEY: options.key,
    API_JWT_SECRET: randomBytes(16).toString('hex'),
    AES_ENCRYPTION_SECRET: randomBytes(16).toString('hex'),
    TOPICS: TOPIC,
    REDIS_HOST: '127.0.0.1',
    REDIS_PORT: String(options.redisPort),
    POSTGRES_URL: `${options.databaseUrl}?sslmode=disable`,
    RABBITMQ_SERVER_URL: `amqp://guest:guest@127.0.0.1:${options.rabbitPort}`,
    DISABLE_TELEMETRY: 'true',
    LOG_LEVEL: 'error',
    LOG_BATCH_THRESHOLD_SECONDS: '1',
    DELIVERY_MAX_CONCURRENCY: '200',
    LOG_MAX_CONCURRENCY: '200',
  }
}

const untilHealthy = (port: number) =>
  until('Outpost is healthy', () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )

async function configure(port: number, key: string, url: string): Promise<void> {
  const tenant = `/api/v1/tenants/${TENANT}`
  const destination = { type: 'webhook', topics: ['*'], config: { url } }
  for (const [method, path, body] of [
    ['PUT', tenant, undefined],
    ['POST', `${tenant}/destinations`, JSON.stringify(destination)],
  ] as const) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body })
    if (!response.ok) throw new Error(`Outpost responded ${response.status}: ${await response.text()}`)
  }
}

/** An event as the product would store it: both sides post the same bodies. */
function newEvent(): DeliveryEvent {
  const createdAtMs = Date.now()
  const ids = { id: newId(createdAtMs), messageId: newId(createdAtMs), accountId: newId(createdAtMs) }
  return {
    ...ids,
    event: 'email.delivery',
    status: 'rejected',
    reason: 'invalid_address',
    recipient: 'recipient@to.test',
    sandbox: false,
    smtp: null,
    inDoubt: false,
    retryable: false,
    detail: null,
    tag: null,
    metadata: null,
    tenantId: null,
    payload: PAYLOAD_VERSION,
    createdAtMs,
  }
}

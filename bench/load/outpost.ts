import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { newId, showId } from '../../server/db/ids.ts'
import { type DeliveryEvent, payloadOf } from '../../server/events/payload.ts'
import { startDatabase } from './database.ts'
import { installPackages } from './debian.ts'
import { buildOutpost } from './outpost-package.ts'
import { startRabbit, startRedis } from './outpost-servers.ts'
import type { Pace } from './pace.ts'
import { freePort } from './port.ts'
import { startPosts } from './posts.ts'
import type { Receiver } from './receiver.ts'
import { startServer } from './server.ts'
import { until } from './until.ts'

const TENANT = 'bench'
const TOPIC = 'email.delivery'

export interface Outpost extends AsyncDisposable {
  /** Outpost, Redis, RabbitMQ and PostgreSQL. */
  pids: number[]
  /** Publishes events. Resolves when their attempts are written down, with when each was due. */
  publish(pace: Pace): Promise<[eventId: string, atMs: number][]>
}

/**
 * Hookdeck's Outpost, which posts what is published to the receiver's endpoint `outpost`. Deliveries at a time: 200, because more
 * were no faster and fewer were slower. It has a PostgreSQL like the product's.
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
  // It listens on all addresses and cannot be told not to.
  const key = randomBytes(16).toString('hex')
  const env = environment({ port, key, redisPort: redis.port, rabbitPort: rabbit.port, databaseUrl: database.url })
  const home = join(dir, 'outpost')
  mkdirSync(home)
  execFileSync(join(programs, 'outpost'), ['migrate', 'apply', '--yes'], { cwd: home, env, stdio: 'ignore' })
  const server = parts.use(await startServer(join(programs, 'outpost-server'), [], { dir: home, env }))
  await isHealthy(port)
  await configure(port, key, receiver.url('outpost'))

  const publisher = parts.use(await startPosts())
  const sql = postgres(database.url, { max: 1 })
  parts.defer(() => sql.end())
  const written = async () => Number((await sql`select count(*) from attempts`)[0]!.count)
  const started = parts.move()
  return {
    pids: [server.pid, redis.pid, rabbit.pid, database.pid],
    async publish(pace) {
      const before = await written()
      const events = Array.from({ length: pace.events }, anyEvent)
      const bodies = events.map((event) => `{"tenant_id":"${TENANT}","topic":"${TOPIC}","data":${payloadOf(event)}}`)
      const answers = await publisher.ask({ port, key, path: '/api/v1/publish', bodies, pace })
      const refused = answers.find(({ status }) => status !== 202)
      if (refused) throw new Error(`Outpost answered ${refused.status}: ${refused.body}`)
      await until('post what was published', async () => (await receiver.count()) >= pace.events)
      await until('write it down', async () => (await written()) >= before + pace.events)
      return answers.map(({ dueMs }, i) => [showId('evt', events[i]!.id), dueMs])
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

function environment(at: { port: number; key: string; redisPort: number; rabbitPort: number; databaseUrl: string }) {
  return {
    API_PORT: String(at.port),
    API_KEY: at.key,
    API_JWT_SECRET: randomBytes(16).toString('hex'),
    AES_ENCRYPTION_SECRET: randomBytes(16).toString('hex'),
    TOPICS: TOPIC,
    REDIS_HOST: '127.0.0.1',
    REDIS_PORT: String(at.redisPort),
    POSTGRES_URL: `${at.databaseUrl}?sslmode=disable`,
    RABBITMQ_SERVER_URL: `amqp://guest:guest@127.0.0.1:${at.rabbitPort}`,
    DISABLE_TELEMETRY: 'true',
    LOG_LEVEL: 'error',
    LOG_BATCH_THRESHOLD_SECONDS: '1',
    DELIVERY_MAX_CONCURRENCY: '200',
    LOG_MAX_CONCURRENCY: '200',
  }
}

const isHealthy = (port: number) =>
  until('start', () =>
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
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body })
    if (!answer.ok) throw new Error(`Outpost answered ${answer.status}: ${await answer.text()}`)
  }
}

/** As the product would have recorded it: both sides post the same bodies. */
function anyEvent(): DeliveryEvent {
  const createdAtMs = Date.now()
  const ids = { id: newId(createdAtMs), messageId: newId(createdAtMs), accountId: newId(createdAtMs) }
  const recipient = 'recipient@to.test'
  return { ...ids, status: 'rejected', reason: 'invalid_address', recipient, sandbox: false, createdAtMs }
}

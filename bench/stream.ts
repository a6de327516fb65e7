import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from '@connectrpc/connect'
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from '@connectrpc/connect-node'
import { EventService } from '../gen/verdict/v1/events_pb.ts'
import { createKey } from '../server/access/api-keys.ts'
import { createDatabaseClock } from '../server/db/clock.ts'
import { connect } from '../server/db/connect.ts'
import { newId, publicId } from '../server/db/ids.ts'
import { createAccount } from '../server/directory/accounts.ts'
import { measure } from './load/cpu.ts'
import { startProduct } from './load/product.ts'
import { residentOf } from './load/resident.ts'
import { startSink } from './load/sink.ts'
import { atMost, percentile, type Report } from './report.ts'

const STREAMS = 20
const EVENTS_PER_SECOND = 500
const SECONDS = 20
const WARM_UP_SECONDS = 5
/** The events of a commit, as a busy process shares its statements. */
const EVENTS_PER_COMMIT = 5
const IDLE_STREAMS = 1_000
const IDLE_ACCOUNTS = 10
const STREAMS_PER_CONNECTION = 50
const IDLE_SECONDS = 30

const TRANSPORTS = { gRPC: createGrpcTransport, 'gRPC-Web': createGrpcWebTransport, Connect: createConnectTransport }
type Protocol = keyof typeof TRANSPORTS

const INSERT = `
  insert into events (id, message_id, account_id, status, recipient, sandbox, created_at)
  select id, id, $2, 'delivered', 'a@example.net', false, now() from unnest($1::uuid[]) id`

/** Events to many streams, from the return of their commit to their receipt, and the cost of streams that are idle. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  const db = connect(product.databaseUrl, { connections: 4 })
  await using parts = new AsyncDisposableStack()
  parts.defer(() => db.$client.end())
  const clock = await createDatabaseClock(db)
  parts.defer(() => clock.stop())
  const ended = new AbortController()
  parts.defer(() => ended.abort())

  async function account() {
    const { id } = await createAccount(db, clock, 'Bench')
    const { key } = await createKey(db, clock, { accountId: id, name: 'bench', kind: 'live', scopes: ['events.read'] })
    return { id, key }
  }

  function connection(protocol: Protocol = 'gRPC', port = product.port): Client<typeof EventService> {
    const baseUrl = `http://127.0.0.1:${port}`
    const sessionManager = new Http2SessionManager(baseUrl)
    parts.defer(() => sessionManager.abort())
    return createClient(EventService, TRANSPORTS[protocol]({ baseUrl, sessionManager, httpVersion: '2' }))
  }

  /** Opens a stream. Resolves when it has started; then calls `onEvent` with the id of each event. */
  async function open(client: Client<typeof EventService>, key: string, onEvent: (id: string) => void): Promise<void> {
    const headers = { authorization: `Bearer ${key}` }
    const started = Promise.withResolvers<void>()
    const read = async () => {
      for await (const { events } of client.streamEvents({}, { headers, signal: ended.signal })) {
        started.resolve()
        for (const { event } of events) onEvent(event!.messageId)
      }
    }
    read().catch((error) => {
      started.reject(error)
      if (!ended.signal.aborted) throw error
    })
    await started.promise
  }

  const idle = { ...(await measureIdle()), ...(await measureOthers()) }
  const busy = await account()
  const committedMs = new Map<string, number>()
  const latenciesMs: number[] = []
  let received = 0
  const clients = [connection(), connection()]
  for (let i = 0; i < STREAMS; i++)
    await open(clients[i % clients.length]!, busy.key, (id) => {
      received++
      const sinceMs = committedMs.get(id)
      if (sinceMs !== undefined) latenciesMs.push(performance.now() - sinceMs)
    })

  async function store(seconds: number): Promise<number> {
    const commits = (seconds * EVENTS_PER_SECOND) / EVENTS_PER_COMMIT
    const startMs = performance.now()
    const running: Promise<void>[] = []
    for (let i = 0; i < commits; i++) {
      const dueMs = startMs + (i * 1_000 * EVENTS_PER_COMMIT) / EVENTS_PER_SECOND
      await sleep(Math.max(0, dueMs - performance.now()))
      const ids = Array.from({ length: EVENTS_PER_COMMIT }, () => newId(clock.now()))
      const commit = db.$client.unsafe(INSERT, [`{${ids}}`, busy.id], { prepare: true }).then(() => {
        const nowMs = performance.now()
        for (const id of ids) committedMs.set(publicId('msg', id), nowMs)
      })
      running.push(commit)
    }
    await Promise.all(running)
    return commits * EVENTS_PER_COMMIT
  }
  const warmUp = await store(WARM_UP_SECONDS)
  await sleep(1_000)
  latenciesMs.length = 0
  received = 0
  const trees = [[product.apiPid], [product.postgresPid]]
  const {
    result: stored,
    cpu,
    seconds,
  } = await measure(trees, async () => {
    const count = await store(SECONDS)
    await sleep(1_000)
    return count
  })
  const lost = stored * STREAMS - received
  console.log(`${stored} events (after ${warmUp}) to ${STREAMS} streams: ${lost} not received`)
  const p99 = percentile(latenciesMs, 0.99)
  return {
    figures: {
      'p50 from commit to receipt, ms': percentile(latenciesMs, 0.5),
      'p99 from commit to receipt, ms': p99,
      'busy: API, cores': cpu[0]! / seconds,
      'busy: PostgreSQL, cores': cpu[1]! / seconds,
      ...idle,
    },
    bars: [
      atMost('p99 from commit to receipt, ms', p99, 500),
      atMost('events that a stream did not receive', lost, 0),
      atMost(IDLE_CPU, idle[IDLE_CPU]!, 5),
      atMost(IDLE_MEMORY, idle[IDLE_MEMORY]!, 50),
    ],
  }

  /** What the API and PostgreSQL spend more with idle streams than without. */
  async function measureIdle(): Promise<Record<string, number>> {
    const trees = [[product.apiPid, product.postgresPid]]
    const rest = async () => {
      const { cpu, seconds } = await measure(trees, () => sleep(IDLE_SECONDS * 1_000))
      return (cpu[0]! / seconds) * 100
    }
    await sleep(10_000)
    const without = { cpu: await rest(), mb: residentOf(product.apiPid).residentMb }
    await openIdle('gRPC', product.port)
    await sleep(5_000)
    const withStreams = { cpu: await rest(), mb: residentOf(product.apiPid).residentMb }
    return {
      'without streams: API and PostgreSQL, % of a core': without.cpu,
      [IDLE_CPU]: withStreams.cpu - without.cpu,
      [IDLE_MEMORY]: kilobytesOfEach(withStreams.mb - without.mb),
    }
  }

  /** Measures the memory of streams over the other protocols, each in its own process. */
  async function measureOthers(): Promise<Record<string, number>> {
    const found: Record<string, number> = {}
    for (const protocol of ['gRPC-Web', 'Connect'] as const) {
      const { pid, port } = await product.startApi()
      await sleep(10_000)
      const beforeMb = residentOf(pid).residentMb
      await openIdle(protocol, port)
      await sleep((5 + IDLE_SECONDS) * 1_000)
      found[`the same over ${protocol}`] = kilobytesOfEach(residentOf(pid).residentMb - beforeMb)
    }
    return found
  }

  async function openIdle(protocol: Protocol, port: number): Promise<void> {
    const accounts = await Promise.all(Array.from({ length: IDLE_ACCOUNTS }, account))
    for (let i = 0; i < IDLE_STREAMS; i += STREAMS_PER_CONNECTION) {
      const client = connection(protocol, port)
      const { key } = accounts[Math.floor((i * IDLE_ACCOUNTS) / IDLE_STREAMS)]!
      for (let j = 0; j < STREAMS_PER_CONNECTION; j++) await open(client, key, () => {})
    }
  }
}

const kilobytesOfEach = (megabytes: number) => (megabytes * 1000) / IDLE_STREAMS

const IDLE_CPU = '1,000 idle streams: API and PostgreSQL, % of a core'
const IDLE_MEMORY = '1,000 idle streams: resident KB of each'

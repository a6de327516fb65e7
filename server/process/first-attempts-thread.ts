import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import packageJson from '../../package.json' with { type: 'json' }
import type { Config } from '../config/config.ts'
import { createDatabaseClock } from '../db/clock.ts'
import { connect, LOCK_MS } from '../db/connect.ts'
import { databaseFault } from '../db/database-fault.ts'
import { waitForDatabase } from '../db/wait.ts'
import type { DispatchedEvent } from '../ledger/first-attempts-offer.ts'
import { createMetrics, type Snapshot } from '../telemetry/metrics.ts'
import { watchEventLoop } from '../telemetry/process-state.ts'
import { startTracing } from '../telemetry/start-tracing.ts'
import { createBatchCounter, watchDatabase } from '../telemetry/watch-parts.ts'
import { createDispatcher } from '../webhooks/queue/dispatcher.ts'
import { createLogger } from './log.ts'
import { releaseMemory } from './release-memory.ts'
import { createProcessAttempts } from './webhook-attempts.ts'

// The thread of first attempts: database -> attempts -> dispatcher -> drain. first-attempts.ts starts it.

/** For nice(2): the thread gets a third of the time of other threads when there is not enough for all. */
const NICE = 5
/** How long after its start the thread compiles. On a busy machine its first POSTs would otherwise take seconds. */
const NICE_AFTER_MS = 10_000
/** A drain waits this long for a thread that waits for the database. What it was offered is then left to Temporal. */
const START_MS = 5_000

/** A message to the thread: events to attempt, a drain, or a question for its metrics, which it posts back. */
export type ThreadMessage = DispatchedEvent[] | 'drain' | 'metrics'
/** A message of the thread. */
export type ThreadAnswer = Snapshot | 'started'

if (!parentPort) throw new Error('first-attempts.ts starts this thread')
const parent = parentPort
const config: Config = workerData
const log = createLogger(config.logLevel)
const metrics = createMetrics('api')
const db = connect(config.databaseUrl, { connections: 3, lockMs: LOCK_MS, batchNotes: createBatchCounter(metrics) })
watchDatabase(metrics, db)
watchEventLoop(metrics, 'first_attempts')
const started = start()
void started.then(() => {
  parent.postMessage('started' satisfies ThreadAnswer)
  setTimeout(lowerPriority, NICE_AFTER_MS)
})

// A rejection ends the thread, and so the process.
parent.on('message', (message: ThreadMessage) => void receive(message))

async function receive(message: ThreadMessage): Promise<void> {
  if (message === 'drain') return drain()
  if (message === 'metrics') return parent.postMessage(await metrics.snapshot())
  const { dispatcher } = await started
  for (const event of message) dispatcher.offer(event)
}

async function start() {
  const clock = await startClock()
  const tracing = await startTracing({ config, service: 'verdict-api', version: packageJson.version, log })
  const { attemptFirst, close } = createProcessAttempts(config, { db, clock, log, metrics, tracing })
  const dispatcher = createDispatcher({
    db,
    clock,
    attemptFirst,
    nextDelayMs: config.webhookSchedule[1],
    onLeave: () => metrics.firstAttemptsLeft.add({}),
    onError: (error) => log.error({ err: error }, 'the first attempt of a webhook failed and is left to Temporal'),
  })
  metrics.firstAttempts.read(() => {
    const { inFlight, queued } = dispatcher.load()
    return [
      [{ state: 'in_flight' }, inFlight],
      [{ state: 'queued' }, queued],
    ]
  })
  await releaseMemory()
  return { dispatcher, clock, tracing, close }
}

/**
 * The process has used the database before it started this thread. So an outage passes, however long it takes, and must
 * not end the process.
 */
async function startClock() {
  for (;;) {
    await waitForDatabase(db, (what) => log.warn(what), Number.POSITIVE_INFINITY)
    try {
      return await createDatabaseClock(db)
    } catch (error) {
      if (!databaseFault(error)?.canPass) throw error
    }
  }
}

/**
 * Gives sends priority over first attempts: a thread that interrupts sends costs them more than its own time. Only
 * Linux has priorities of threads.
 */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  const id = readlinkSync('/proc/thread-self').split('/').at(-1)
  setPriority(Number(id), NICE)
}

async function drain(): Promise<void> {
  const parts = await Promise.race([started, sleep(START_MS)])
  if (parts === undefined) return process.exit()
  const { dispatcher, clock, tracing, close } = parts
  await dispatcher.drain()
  clock.stop()
  await Promise.all([close(), tracing.close(), db.$client.end({ timeout: 5 })])
  process.exit()
}

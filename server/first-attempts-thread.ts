import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { Config } from './config/config.ts'
import { databaseClock } from './db/clock.ts'
import { connect } from './db/connect.ts'
import type { DeliveryEvent } from './db/delivery-event.ts'
import { waitForDatabase } from './db/wait.ts'
import { deliveriesOf } from './deliveries.ts'
import { createLogger } from './log.ts'
import { createDispatcher } from './webhooks/dispatcher.ts'

// The thread of first attempts: database -> deliveries -> dispatcher -> drain. first-attempts.ts starts it.

/** For nice(2): the thread gets a third of the time of other threads when there is not enough for all. */
const NICE = 5
/** Until then the thread loads and compiles. On a busy machine its first POSTs would otherwise take seconds. */
const NICE_AFTER_MS = 10_000

/** A message to the thread: events to attempt, or a drain. */
export type ThreadMessage = DeliveryEvent[] | 'drain'

setTimeout(lowerPriority, NICE_AFTER_MS)

const config: Config = workerData
const log = createLogger(config.logLevel)
const db = connect(config.databaseUrl, { connections: 3 })
await waitForDatabase(db, (what) => log.warn(what))
const clock = await databaseClock(db)
const { deliverFirst, close } = deliveriesOf(config, { db, clock, log })
const dispatcher = createDispatcher({
  db,
  clock,
  deliverFirst,
  nextDelayMs: config.webhookSchedule[1],
  onError: (error) => log.error({ err: error }, 'the first attempt of a webhook failed and is left to Temporal'),
})

parentPort!.on('message', (message: ThreadMessage) => {
  if (message === 'drain') void drain()
  else for (const event of message) dispatcher.offer(event)
})

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
  await dispatcher.drain()
  clock.stop()
  await Promise.all([close(), db.$client.end({ timeout: 5 })])
  process.exit()
}

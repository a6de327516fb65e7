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

// The thread of first attempts: database -> deliveries -> dispatch -> drain. It is started by first-attempts.ts.

/** Of nice(2): a third of what the other threads get when there is not enough for all. */
const GIVES_WAY_BY = 5
/** Before that it reads and compiles, and on a full machine its first POSTs would take seconds. */
const GIVES_WAY_AFTER_MS = 10_000

/** What the thread of first attempts is told. */
export type Told = DeliveryEvent[] | 'drain'

setTimeout(giveWay, GIVES_WAY_AFTER_MS)

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
  onError: (error) => log.error({ err: error }, 'the first attempt of a webhook is left to Temporal'),
})

parentPort!.on('message', (told: Told) => {
  if (told === 'drain') void drain()
  else for (const event of told) dispatcher.offer(event)
})

/** Sends come first: a thread that interrupts them costs them more than its own time. Linux knows a priority of threads. */
function giveWay(): void {
  if (process.platform !== 'linux') return
  const id = readlinkSync('/proc/thread-self').split('/').at(-1)
  setPriority(Number(id), GIVES_WAY_BY)
}

async function drain(): Promise<void> {
  await dispatcher.drain()
  clock.stop()
  await Promise.all([close(), db.$client.end({ timeout: 5 })])
  process.exit()
}

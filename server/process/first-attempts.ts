import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Config } from '../config/config.ts'
import type { Metrics, Snapshot } from '../telemetry/metrics.ts'
import { type Dispatcher, LEASE_MS } from '../webhooks/dispatcher.ts'
import { createEventBatches } from '../webhooks/event-batches.ts'
import type { ThreadMessage } from './first-attempts-thread.ts'

/**
 * Makes first attempts in a thread of this process, so that sends wait for none of the work of a POST and both
 * processors are used. Events that are offered while the thread starts wait for it. A fault that the thread does not
 * catch ends the process.
 */
export function startFirstAttempts(config: Config, metrics: Pick<Metrics, 'include'>): Dispatcher {
  const thread = new Worker(new URL('./first-attempts-thread.ts', import.meta.url), { workerData: config })
  metrics.include(snapshots(thread))
  const postMessage = (message: ThreadMessage) => thread.postMessage(message)
  const batches = createEventBatches(postMessage)

  async function drain(): Promise<void> {
    batches.flush()
    postMessage('drain')
    await once(thread, 'exit')
  }

  return { leaseMs: LEASE_MS, offer: batches.add, drain }
}

/** How long a scrape waits for the thread. After that it sees the thread's last values. */
const SNAPSHOT_MS = 500

/** Asks the thread for its metrics. A counter never falls, whatever the thread does. */
function snapshots(thread: Worker): () => Promise<Snapshot> {
  let last: Snapshot = {}
  let answered = Promise.withResolvers<void>()
  thread.on('message', (snapshot: Snapshot) => {
    last = snapshot
    answered.resolve()
    answered = Promise.withResolvers()
  })
  return async () => {
    thread.postMessage('metrics' satisfies ThreadMessage)
    await Promise.race([answered.promise, sleep(SNAPSHOT_MS, undefined, { ref: false })])
    return last
  }
}

import { on, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Config } from '../config/config.ts'
import type { Metrics, Snapshot } from '../telemetry/metrics.ts'
import { type Dispatcher, LEASE_MS } from '../webhooks/queue/dispatcher.ts'
import { createEventBatches } from '../webhooks/queue/event-batches.ts'
import type { ThreadAnswer, ThreadMessage } from './first-attempts-thread.ts'

/** The dispatcher of a thread. Offer events once the thread has started: those that wait too long go to Temporal. */
interface DispatcherThread extends Dispatcher {
  started: Promise<void>
}

/**
 * Makes first attempts in a thread of this process, so that sends wait for none of the work of a POST and both
 * processors are used. A fault that the thread does not catch ends the process.
 */
export function startFirstAttempts(config: Config, metrics: Pick<Metrics, 'include'>): DispatcherThread {
  const thread = new Worker(new URL('./first-attempts-thread.ts', import.meta.url), { workerData: config })
  metrics.include(snapshots(thread))
  const postMessage = (message: ThreadMessage) => thread.postMessage(message)
  const batches = createEventBatches(postMessage)

  async function drain(): Promise<void> {
    batches.flush()
    postMessage('drain')
    await once(thread, 'exit')
  }

  return { leaseMs: LEASE_MS, offer: batches.add, drain, started: startOf(thread) }
}

async function startOf(thread: Worker): Promise<void> {
  for await (const [answer] of on(thread, 'message') as AsyncIterable<[ThreadAnswer]>) if (answer === 'started') return
}

/** How long a scrape waits for the thread. After that it sees the thread's last values. */
const SNAPSHOT_MS = 500

/** Asks the thread for its metrics. A counter never falls, whatever the thread does. */
function snapshots(thread: Worker): () => Promise<Snapshot> {
  let last: Snapshot = {}
  let answered = Promise.withResolvers<void>()
  thread.on('message', (answer: ThreadAnswer) => {
    if (answer === 'started') return
    last = answer
    answered.resolve()
    answered = Promise.withResolvers()
  })
  return async () => {
    thread.postMessage('metrics' satisfies ThreadMessage)
    await Promise.race([answered.promise, sleep(SNAPSHOT_MS, undefined, { ref: false })])
    return last
  }
}

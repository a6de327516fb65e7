import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Config } from './config/config.ts'
import type { DeliveryEvent } from './db/delivery-event.ts'
import type { Told } from './first-attempts-thread.ts'
import { type Dispatcher, LEASE_MS } from './webhooks/dispatcher.ts'

/**
 * Events that come within this time of each other go over together: to wake the thread, its connections and their other ends for each
 * one costs a quarter more than for thirty. The first one waits for nobody.
 */
const TOGETHER_MS = 25

/**
 * First attempts, made in a thread of this process: sends wait for none of the work of a POST, and both processors are used. What is
 * offered while the thread starts waits for it. A fault that it does not catch ends the process.
 */
export function startFirstAttempts(config: Config): Dispatcher {
  const thread = new Worker(new URL('./first-attempts-thread.ts', import.meta.url), { workerData: config })
  const tell = (told: Told) => thread.postMessage(told)
  let toldMs = Number.NEGATIVE_INFINITY
  let offers: DeliveryEvent[] = []

  function offer(event: DeliveryEvent): void {
    if (offers.push(event) > 1) return
    const waitMs = toldMs + TOGETHER_MS - performance.now()
    if (waitMs > 0) setTimeout(tellOffers, waitMs)
    else queueMicrotask(tellOffers)
  }

  function tellOffers(): void {
    toldMs = performance.now()
    tell(offers)
    offers = []
  }

  async function drain(): Promise<void> {
    tellOffers()
    tell('drain')
    await once(thread, 'exit')
  }

  return { leaseMs: LEASE_MS, offer, drain }
}

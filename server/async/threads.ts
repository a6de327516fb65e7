import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { FairSlots } from '../../net/fair-slots.ts'
import type { Job, JobResult } from './thread.ts'
import { transferableIn } from './transferable.ts'

// Threads for content from outside. What a text is full of decides how long a library reads it. In a thread, no other
// caller waits for it. The threads are those of the process, because processors are. The first large
// content starts them, and they end when there was none for a while.

/** Content of more bytes is read in a thread. The worst content of this size keeps the event loop for about 20 ms. */
const LARGE_BYTES = 64 * 1024

/** The event loop has its own processor. */
const THREADS = Math.min(4, Math.max(1, availableParallelism() - 1))
/** One account leaves a thread to the others, or with a single thread its turn. */
const slots = new FairSlots({ slots: THREADS, perAccount: Math.max(1, THREADS - 1) })
const IDLE_MS = 30_000

interface Thread {
  worker: Worker
  /** Settles the job that runs. */
  job?: PromiseWithResolvers<JobResult>
  idle?: NodeJS.Timeout
}

/** Threads without a job. */
const resting: Thread[] = []

/**
 * The function as one that runs in a thread. `module` is the URL of the module that exports it under its own name. Its
 * arguments are copied and its result is moved: plain values, bytes and keys. Bytes arrive as `Uint8Array`. Accounts
 * take turns.
 */
export function inThread<Arguments extends unknown[], Result>(
  module: string,
  { name }: (...values: Arguments) => Result | Promise<Result>,
): (accountId: string, ...values: Arguments) => Promise<Result> {
  return async (accountId, ...values) => {
    const release = await slots.acquire({ accountId })
    const thread = resting.pop() ?? start()
    try {
      return (await run(thread, { module, name, values })) as Result
    } finally {
      release?.()
    }
  }
}

/** As `inThread` for large arguments. With others the function runs here, without the price of a thread. */
export function inThreadIfLarge<Arguments extends unknown[], Result>(
  module: string,
  work: (...values: Arguments) => Result | Promise<Result>,
): (accountId: string, ...values: Arguments) => Promise<Result> {
  const workInThread = inThread(module, work)
  return async (accountId, ...values) =>
    sizeOf(values) > LARGE_BYTES ? workInThread(accountId, ...values) : work(...values)
}

/** The bytes and characters in a value. The count ends once the value is large. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length
  if (typeof value !== 'object' || value === null) return 0
  let size = 0
  for (const one of Object.values(value)) {
    size += sizeOf(one)
    if (size > LARGE_BYTES) break
  }
  return size
}

async function run(thread: Thread, job: Job): Promise<unknown> {
  clearTimeout(thread.idle)
  thread.job = Promise.withResolvers()
  thread.worker.ref()
  const values = job.values.map(withOwnBytes)
  thread.worker.postMessage({ ...job, values } satisfies Job, transferableIn(values))
  const result = await thread.job.promise
  thread.job = undefined
  // A thread without work does not keep its process.
  thread.worker.unref()
  resting.push(thread)
  thread.idle = setTimeout(end, IDLE_MS, thread).unref()
  if ('fault' in result) throw new Error(`a thread failed: ${result.fault}`)
  return result.value
}

function start(): Thread {
  const worker = new Worker(new URL('./thread.ts', import.meta.url))
  const thread: Thread = { worker }
  worker.on('message', (result: JobResult) => thread.job?.resolve(result))
  worker.on('error', (error) => thread.job?.reject(error))
  worker.on('exit', () => {
    forget(thread)
    thread.job?.reject(new Error('the thread ended'))
  })
  return thread
}

function end(thread: Thread): void {
  forget(thread)
  void thread.worker.terminate()
}

function forget(thread: Thread): void {
  const index = resting.indexOf(thread)
  if (index >= 0) resting.splice(index, 1)
}

/** Bytes may be a piece of a larger buffer, which would be copied as a whole. */
function withOwnBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map(withOwnBytes)
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withOwnBytes(one)]))
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value))

import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker'
import type { TemporalConfig } from '../server/config/config.ts'
import { inTime } from '../server/in-time.ts'
import type { Activities } from './activities.ts'
import { TASK_QUEUES } from './client.ts'
import { CALL_MS, connectionOptions } from './connection.ts'
import { ACTIVITY_SLOTS, POST_MS, WORKFLOW_TASK_MS } from './limits.ts'

export interface Bundle {
  code: string
}

const BUNDLER = fileURLToPath(new URL('bundle.ts', import.meta.url))
const MAX_BUNDLE_OCTETS = 16_000_000

/** The code of the workflows as the workers run it, apart from everything else. Made in about a second. */
export async function bundleWorkflows(): Promise<Bundle> {
  const { stdout } = await promisify(execFile)(process.execPath, [BUNDLER], { maxBuffer: MAX_BUNDLE_OCTETS })
  return { code: stdout }
}

export interface WorkersParts {
  connection: NativeConnection
  namespace: string
  workflowBundle: Bundle
  activities: Activities
  /** Lets the activities in progress end, for as long as a POST may take, and takes no more. */
  stopping: AbortSignal
}

export interface KeepWorkingParts extends Pick<WorkersParts, 'activities' | 'stopping'> {
  temporal: TemporalConfig
  /** Hears that Temporal is there, before the work begins. */
  connected(): Promise<void>
  /** Hears what is wrong, each time it was tried. */
  failed(error: unknown): void
}

const TRY_AGAIN_MS = 1_000

/** Connects and works until stopped, and tries again for as long as Temporal is away or refuses. */
export async function keepWorking({ temporal, connected, failed, ...parts }: KeepWorkingParts): Promise<void> {
  const { stopping } = parts
  const workflowBundle = await bundleWorkflows()
  while (!stopping.aborted) {
    try {
      const connection = await connect(temporal)
      await connected()
      await runWorkers({ ...parts, workflowBundle, connection, namespace: temporal.namespace }).finally(() =>
        connection.close(),
      )
    } catch (error) {
      failed(error)
    }
    await sleep(TRY_AGAIN_MS, undefined, { signal: stopping }).catch(() => {})
  }
}

/** A server that is there and silent counts as away. */
function connect(temporal: TemporalConfig): Promise<NativeConnection> {
  const connecting = NativeConnection.connect(connectionOptions(temporal))
  return inTime(connecting, CALL_MS, () => {
    connecting.then((late) => late.close()).catch(() => {})
    return new Error(`Temporal did not answer within ${CALL_MS} ms`)
  })
}

/** Works on every task queue until stopped. Throws when Temporal refuses; while it is away, the workers look for it by themselves. */
export async function runWorkers({ stopping, ...parts }: WorkersParts): Promise<void> {
  const workers = await Promise.all(Object.values(TASK_QUEUES).map((taskQueue) => createWorker(taskQueue, parts)))
  const shutDown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  // All of them end together, so that nobody takes a half for the whole.
  const runs = workers.map((worker) => worker.run().finally(shutDown))
  if (stopping.aborted) shutDown()
  stopping.addEventListener('abort', shutDown)
  try {
    await Promise.allSettled(runs)
    await Promise.all(runs)
  } finally {
    stopping.removeEventListener('abort', shutDown)
  }
}

function createWorker(taskQueue: string, parts: Omit<WorkersParts, 'stopping'>): Promise<Worker> {
  return Worker.create(workerOptions(taskQueue, parts))
}

/** The SDK reads this option, but does not declare it. */
interface HiddenOptions {
  /** The longest that one call into workflow code may take, in milliseconds of real time. */
  isolateExecutionTimeout: number
}

export function workerOptions(taskQueue: string, parts: Omit<WorkersParts, 'stopping'>): WorkerOptions & HiddenOptions {
  return {
    ...parts,
    taskQueue,
    maxConcurrentActivityTaskExecutions: ACTIVITY_SLOTS,
    // One thread runs workflow tasks in turn, and the time limit of a task runs while it waits for its turn.
    maxConcurrentWorkflowTaskExecutions: 10,
    isolateExecutionTimeout: WORKFLOW_TASK_MS,
    // A workflow that sleeps costs memory here; to read it again from its history costs nothing.
    maxCachedWorkflows: 100,
    // How soon an activity hears that it is cancelled.
    maxHeartbeatThrottleInterval: 5_000,
    shutdownGraceTime: POST_MS + 2_000,
    shutdownForceTime: POST_MS + 10_000,
  }
}

import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type ActivityInterceptorsFactory, NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker'
import { inTime } from '../server/async/timeout.ts'
import type { TemporalConfig } from '../server/config/config.ts'
import type { Activities } from './activities.ts'
import { TASK_QUEUES } from './client.ts'
import { CALL_MS, connectionOptions } from './connection.ts'
import { ACTIVITY_SLOTS, POST_MS, WORKFLOW_TASK_MS } from './worker-limits.ts'

export interface Bundle {
  code: string
}

const BUNDLER = fileURLToPath(new URL('bundle.ts', import.meta.url))
const MAX_BUNDLE_OCTETS = 16_000_000

/** Bundles the code of the workflows as the workers run it, separate from everything else. Takes about a second. */
export async function bundleWorkflows(): Promise<Bundle> {
  const { stdout } = await promisify(execFile)(process.execPath, [BUNDLER], { maxBuffer: MAX_BUNDLE_OCTETS })
  return { code: stdout }
}

interface WorkersParts {
  connection: NativeConnection
  namespace: string
  workflowBundle: Bundle
  activities: Activities
  activityInterceptors?: ActivityInterceptorsFactory[]
  /** When it aborts, the workers accept no more activities. Those in progress may take as long as a POST. */
  stopping: AbortSignal
}

interface KeepWorkingParts extends Pick<WorkersParts, 'activities' | 'activityInterceptors' | 'stopping'> {
  temporal: TemporalConfig
  /** Is called when Temporal is there, before the work begins. */
  onConnect(): Promise<void>
  /** Is called with the error of each try. */
  onError(error: unknown): void
}

const RETRY_MS = 1_000

/** Connects and works until stopped. Tries again for as long as Temporal is away or refuses. */
export async function keepWorking({ temporal, onConnect, onError, ...parts }: KeepWorkingParts): Promise<void> {
  const { stopping } = parts
  const workflowBundle = await bundleWorkflows()
  while (!stopping.aborted) {
    try {
      const connection = await connect(temporal)
      try {
        await onConnect()
        await runWorkers({ ...parts, workflowBundle, connection, namespace: temporal.namespace })
      } finally {
        await connection.close()
      }
    } catch (error) {
      onError(error)
    }
    await sleep(RETRY_MS, undefined, { signal: stopping }).catch(() => {})
  }
}

/** Connects to Temporal. A server that is there and silent counts as away. */
function connect(temporal: TemporalConfig): Promise<NativeConnection> {
  const connecting = NativeConnection.connect(connectionOptions(temporal))
  return inTime(connecting, CALL_MS, () => {
    connecting.then((late) => late.close()).catch(() => {})
    return new Error(`Temporal did not answer within ${CALL_MS} ms`)
  })
}

/**
 * Works on every task queue until stopped. Throws when Temporal refuses. While Temporal is away, the workers
 * reconnect by themselves.
 */
export async function runWorkers({ stopping, ...parts }: WorkersParts): Promise<void> {
  const workers = await Promise.all(Object.values(TASK_QUEUES).map((taskQueue) => createWorker(taskQueue, parts)))
  const shutDown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  // All workers end together: a process that serves only some of the task queues would look as if it worked.
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

/** An option that the SDK reads but does not declare. */
interface HiddenOptions {
  /** The longest time of one call into workflow code, in milliseconds of real time. */
  isolateExecutionTimeout: number
}

export function workerOptions(
  taskQueue: string,
  { activityInterceptors, ...parts }: Omit<WorkersParts, 'stopping'>,
): WorkerOptions & HiddenOptions {
  return {
    ...parts,
    taskQueue,
    interceptors: { activity: activityInterceptors },
    maxConcurrentActivityTaskExecutions: ACTIVITY_SLOTS,
    // One thread runs workflow tasks in turn. The time limit of a task includes the wait for its turn.
    maxConcurrentWorkflowTaskExecutions: 10,
    isolateExecutionTimeout: WORKFLOW_TASK_MS,
    // A sleeping workflow costs memory here. Replaying it from its history costs almost nothing.
    maxCachedWorkflows: 100,
    // How soon an activity learns that it is cancelled.
    maxHeartbeatThrottleInterval: 5_000,
    shutdownGraceTime: POST_MS + 2_000,
    shutdownForceTime: POST_MS + 10_000,
  }
}

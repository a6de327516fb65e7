import { type ConnectionLike, isGrpcServiceError, ScheduleClient, ScheduleNotFoundError } from '@temporalio/client'
import type { TemporalConfig } from '../server/config/config.ts'
import { TASK_QUEUES } from './client.ts'
import { CALL_MS, lazyConnection } from './connection.ts'
import { missingAttributes, SCHEDULE_NAMES } from './set-up-namespace.ts'

/** `none`: a task queue has no worker, so retries or replays wait. `unknown`: Temporal does not say. */
export type WorkerState = 'polling' | 'none' | 'unknown'

/** `temporal.api.enums.v1.TaskQueueType` */
const TASK_QUEUE_TYPES = [1, 2]
/** A worker polls at least once a minute. Temporal lists one that is gone for five minutes more. */
const POLLED_WITHIN_MS = 75_000
/** gRPC's NOT_FOUND. */
const NOT_FOUND = 5

/** Says whether workers poll every task queue, for workflows and for activities. Never rejects. */
export async function workerState(connection: ConnectionLike, namespace: string): Promise<WorkerState> {
  const queues = Object.values(TASK_QUEUES).flatMap((name) => TASK_QUEUE_TYPES.map((type) => ({ name, type })))
  try {
    const polled = await Promise.all(queues.map(({ name, type }) => isPolled(connection, namespace, name, type)))
    return polled.every(Boolean) ? 'polling' : 'none'
  } catch {
    return 'unknown'
  }
}

async function isPolled({ workflowService }: ConnectionLike, namespace: string, name: string, taskQueueType: number) {
  const { pollers } = await workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType })
  const sinceMs = Date.now() - POLLED_WITHIN_MS
  return pollers.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 >= sinceMs)
}

/** Why a namespace cannot be used. */
interface NamespaceFault {
  /** Whether Temporal responds, and has no such namespace. */
  isMissing: boolean
  /** gRPC's details. */
  why: string
}

/** Resolves to undefined when the namespace can be used. */
export async function namespaceFault(
  { workflowService }: ConnectionLike,
  namespace: string,
): Promise<NamespaceFault | undefined> {
  try {
    await workflowService.describeNamespace({ namespace })
    return undefined
  } catch (error) {
    const why = isGrpcServiceError(error) ? error.details : (error as Error).message
    return { isMissing: isGrpcServiceError(error) && error.code === NOT_FOUND, why }
  }
}

interface ScheduleStates {
  missing: string[]
  paused: string[]
}

/** Looks up the Schedules that a worker creates when it starts. */
async function scheduleStates(connection: ConnectionLike, namespace: string): Promise<ScheduleStates> {
  const schedules = new ScheduleClient({ connection, namespace })
  const states: ScheduleStates = { missing: [], paused: [] }
  for (const name of SCHEDULE_NAMES) {
    try {
      const { state } = await schedules.getHandle(name).describe()
      if (state.paused) states.paused.push(name)
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error
      states.missing.push(name)
    }
  }
  return states
}

/** Connects to Temporal to look at it, for the operator. Every question takes at most five seconds. */
export async function inspectTemporal(temporal: TemporalConfig) {
  const { namespace } = temporal
  const connection = lazyConnection(temporal)
  const inTime = <T>(call: () => Promise<T>) => connection.withDeadline(Date.now() + CALL_MS, call)
  return {
    /** undefined when the namespace can be used. */
    fault: await inTime(() => namespaceFault(connection, namespace)),
    worker: () => inTime(() => workerState(connection, namespace)),
    schedules: () => inTime(() => scheduleStates(connection, namespace)),
    /** The search attributes that the namespace lacks. */
    missingAttributes: () => inTime(() => missingAttributes(connection, namespace)),
    close: () => connection.close(),
  }
}

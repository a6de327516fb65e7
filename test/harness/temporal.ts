import { devNull } from 'node:os'
import { Connection, isGrpcServiceError } from '@temporalio/client'
import { inject } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { startTemporalServer, type TemporalServer } from '../../dev/temporal/server.ts'
import { stopGroup } from './stop-group.ts'
import { pauseFor } from './waits.ts'

export interface TestTemporal {
  /** `host:port` */
  address: string
  port: number
  uiUrl: string
  /** Its process group, as a process id: negative. */
  group: number
  /** Keeps its connections but responds to nothing. A paused Temporal does not end with a test that is killed. */
  pause(): Promise<void>
  resume(): void
  stop(): Promise<void>
}

export interface TemporalOptions {
  dbFile?: string
  port?: number
  /** The path of the program `temporal`, outside of Vitest. */
  program?: string
}

/**
 * Starts a separate Temporal with the search attributes of webhooks, in 0.3 s. It forgets everything when it stops,
 * unless it has a file. Started again with the same port and file, it keeps its history. Stop it in `afterAll`.
 */
export async function startTemporal(options: TemporalOptions = {}): Promise<TestTemporal> {
  const temporal = options.program ? { program: options.program } : inject('temporal')
  if ('fault' in temporal) throw new Error(temporal.fault)
  for (let tries = 3; tries > 0; tries--) {
    const port = options.port ?? (await freePort())
    const uiPort = await freePort()
    const server = await startTemporalServer({ ...temporal, ...options, port, uiPort, logFile: devNull })
    const resume = () => {
      isPaused = false
      process.kill(-server.group, 'SIGCONT')
    }
    let isPaused = false
    const stop = () => {
      // A stopped server has no group any more.
      if (isPaused) resume()
      return server.stop()
    }
    const pause = () => {
      isPaused = true
      return stopGroup(server.group)
    }
    if (await serves(server)) {
      const { address, uiUrl } = server
      return { address, port, uiUrl, group: -server.group, pause, resume, stop }
    }
    await stop()
  }
  throw new Error('Temporal did not start')
}

const SERVES_WITHIN_MS = 20_000
const CALL_MS = 2_000
const NOT_FOUND = 5

/**
 * Whether the server begins to serve. Its port may listen before the services behind it do, and when another process
 * has taken one of the ports that it chose for them, they never do.
 */
async function serves({ address, ready }: TemporalServer): Promise<boolean> {
  if (!(await ready)) return false
  const connection = Connection.lazy({ address, connectTimeout: CALL_MS })
  const untilMs = performance.now() + SERVES_WITHIN_MS
  let isServing = false
  while (!isServing && performance.now() < untilMs) {
    isServing = await connection
      .withDeadline(Date.now() + CALL_MS, () => workflowsAnswer(connection))
      .catch(() => false)
    if (!isServing) await pauseFor(20)
  }
  await connection.close()
  return isServing
}

/** Asks for a task queue, and for a workflow that does not exist: each is its own service. */
async function workflowsAnswer({ workflowService }: Connection): Promise<boolean> {
  const namespace = 'default'
  await workflowService.describeTaskQueue({ namespace, taskQueue: { name: 'none' }, taskQueueType: 1 })
  const asking = workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: 'none' } })
  return asking.then(
    () => true,
    (error) => isGrpcServiceError(error) && error.code === NOT_FOUND,
  )
}

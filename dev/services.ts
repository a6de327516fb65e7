import { startProcess } from './process.ts'

export interface ServedPorts {
  url: string
  metricsUrl: string | undefined
  smtpPort: number | undefined
  lmtpPort: number | undefined
}

export interface Services {
  /** The URLs of the API; undefined when it ends before it is ready. */
  ready: Promise<ServedPorts | undefined>
  /** Resolves when one of them has ended: to undefined after success, otherwise to a message for the user. */
  ended: Promise<string | undefined>
  /**
   * Ends them after they have finished what they accepted, or as soon as one of `hurry` resolves. Resolves when they
   * have ended.
   */
  drain(hurry: Promise<unknown>[]): Promise<void>
}

/** Starts the API and the worker. */
export async function startServices(env: NodeJS.ProcessEnv, logs: { api: string; worker: string }): Promise<Services> {
  const api = await startProcess<{ ready: string; metricsUrl?: string; smtpPort?: number; lmtpPort?: number }>(
    { name: 'The API', file: 'server/main.ts', logFile: logs.api },
    env,
  )
  const worker = await startProcess({ name: 'The worker', file: 'workflows/worker.ts', logFile: logs.worker }, env)
  const processes = [api, worker]
  return {
    ready: api.ready.then(
      (served) =>
        served && {
          url: served.ready,
          metricsUrl: served.metricsUrl,
          smtpPort: served.smtpPort,
          lmtpPort: served.lmtpPort,
        },
    ),
    ended: Promise.race(processes.map(({ gone }) => gone)),
    async drain(hurry) {
      for (const { drain } of processes) drain()
      const ended = Promise.all(processes.map(({ gone }) => gone))
      await Promise.race([ended, ...hurry])
      // Processes that have ended do not notice.
      for (const { kill } of processes) kill()
      await ended
    },
  }
}

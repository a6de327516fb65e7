import { startProcess } from './process.ts'

export interface Services {
  /** Where the API serves; undefined when it ended before it did. */
  ready: Promise<{ url: string; grpcUrl: string } | undefined>
  /** Resolves when one of them is gone: to nothing after a good end, else to words for a person. */
  ended: Promise<string | undefined>
  /** Lets them finish what they have accepted, but no longer than until one of `hurry` resolves. Resolves when all are gone. */
  drain(hurry: Promise<unknown>[]): Promise<void>
}

/** Starts the API and the worker. */
export async function startServices(env: NodeJS.ProcessEnv, logs: { api: string; worker: string }): Promise<Services> {
  const api = await startProcess<{ ready: string; grpcUrl?: string }>(
    { name: 'The API', file: 'server/main.ts', logFile: logs.api },
    env,
  )
  const worker = await startProcess({ name: 'The worker', file: 'workflows/worker.ts', logFile: logs.worker }, env)
  const processes = [api, worker]
  return {
    ready: api.ready.then((served) => served && { url: served.ready, grpcUrl: served.grpcUrl ?? served.ready }),
    ended: Promise.race(processes.map(({ gone }) => gone)),
    async drain(hurry) {
      for (const { drain } of processes) drain()
      for (const { kill } of processes) for (const event of hurry) event.then(kill)
      await Promise.all(processes.map(({ gone }) => gone))
    },
  }
}

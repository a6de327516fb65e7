import { parentPort } from 'node:worker_threads'
import { transferableIn } from './transferable.ts'

// A thread of threads.ts: it runs one function of a module at a time.

export interface Job {
  /** The URL of a module, and what it exports. */
  module: string
  name: string
  values: unknown[]
}

export type JobResult = { value: unknown } | { fault: string }

parentPort!.on('message', async ({ module, name, values }: Job) => {
  try {
    const functions = (await import(module)) as Record<string, (...values: unknown[]) => unknown>
    const value = await functions[name]!(...values)
    parentPort!.postMessage({ value } satisfies JobResult, transferableIn(value))
  } catch (error) {
    parentPort!.postMessage({ fault: (error as Error).stack ?? String(error) } satisfies JobResult)
  }
})

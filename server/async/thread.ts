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

if (!parentPort) throw new Error('threads.ts starts this thread')
const parent = parentPort
parent.on('message', (job: Job) => {
  run(job).then(
    (value) => parent.postMessage({ value } satisfies JobResult, transferableIn(value)),
    (error: Error) => parent.postMessage({ fault: error.stack ?? String(error) } satisfies JobResult),
  )
})

async function run({ module, name, values }: Job): Promise<unknown> {
  const functions = (await import(module)) as Record<string, (...values: unknown[]) => unknown>
  return functions[name]!(...values)
}

import type { TestProject } from 'vitest/node'
import { Problem } from '../../dev/problem.ts'
import { cacheFolder } from '../../dev/temporal/bring-up.ts'
import { temporalProgram } from '../../dev/temporal/program.ts'
import { bundleWorkflows } from '../../workflows/run-workers.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The program `temporal`, or why there is none. */
    temporal: { program: string } | { fault: string }
    /** The workflows as a worker runs them. */
    workflowBundle: { code: string }
  }
}

/** Prepares what takes long before any test starts: Temporal, which a new machine has to build first, and the workflows' bundle. */
export default async function setup(project: TestProject): Promise<() => void> {
  const stopping = new AbortController()
  project.provide('workflowBundle', await bundleWorkflows())
  const bringUp = { tell: console.error, signal: stopping.signal, cacheDir: cacheFolder(process.env) }
  try {
    project.provide('temporal', { program: await temporalProgram(bringUp) })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    project.provide('temporal', { fault: error.message })
  }
  return () => stopping.abort()
}

import type { TestProject } from 'vitest/node'
import { Problem } from '../../dev/problem.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { temporalProgram } from '../../dev/temporal/program.ts'
import { bundleWorkflows } from '../../workflows/run-workers.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the program `temporal`, or why it is missing. */
    temporal: { program: string } | { fault: string }
    /** The workflow code as a worker runs it. */
    workflowBundle: { code: string }
  }
}

/**
 * Prepares the slow parts before any test starts: the Temporal program, which a new machine builds first, and the
 * workflow bundle.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const stopping = new AbortController()
  project.provide('workflowBundle', await bundleWorkflows())
  const installOptions = { report: console.error, signal: stopping.signal, cacheDir: cacheFolder(process.env) }
  try {
    project.provide('temporal', { program: await temporalProgram(installOptions) })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    project.provide('temporal', { fault: error.message })
  }
  return () => stopping.abort()
}

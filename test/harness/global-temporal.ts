import type { TestProject } from 'vitest/node'
import { Problem } from '../../dev/problem.ts'
import { cacheFolder, temporalProgram } from '../../dev/temporal-program.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The program `temporal`, or why there is none. */
    temporal: { program: string } | { fault: string }
  }
}

/** Brought before any test: on a machine that has to build it that takes minutes, for which no test waits. */
export default async function setup(project: TestProject): Promise<() => void> {
  const stopping = new AbortController()
  const bringUp = { tell: console.error, signal: stopping.signal, cacheDir: cacheFolder(process.env) }
  try {
    project.provide('temporal', { program: await temporalProgram(bringUp) })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    project.provide('temporal', { fault: error.message })
  }
  return () => stopping.abort()
}

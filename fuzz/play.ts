import fc from 'fast-check'
import { inTime } from '../server/async/timeout.ts'
import type { Law, Target } from './target.ts'

/** An input that takes longer breaks its law. */
const MAX_INPUT_MS = 60_000
const MAX_SHRINKING_MS = 60_000
const PROGRESS_MS = 10_000

export interface PlayOptions {
  seed: number
  seconds: number
  /** Is called about every ten seconds. */
  progress(runs: number, elapsedMs: number): void
}

export interface Played {
  runs: number
  elapsedMs: number
  find?: Find
}

/** The smallest input found that breaks the law, and the error that it causes. */
export interface Find {
  input: unknown
  error: Error
}

/** Checks generated inputs until the time is over or until one breaks the law. Then it looks for smaller ones. */
export async function play(target: Target, { seed, seconds, progress }: PlayOptions): Promise<Played> {
  const law = await target.start()
  try {
    const startedAtMs = performance.now()
    let runs = 0
    let reportedAtMs = startedAtMs
    let find: Find | undefined
    let lastCheck: Promise<void> = Promise.resolve()
    const check = async (input: unknown) => {
      try {
        await checkOnce(law, input)
      } catch (error) {
        find = { input, error: error as Error }
        throw error
      }
      runs++
      const now = performance.now()
      if (now < reportedAtMs + PROGRESS_MS) return
      reportedAtMs = now
      progress(runs, now - startedAtMs)
    }
    const property = fc.asyncProperty(target.inputs, (input) => {
      lastCheck = check(input)
      return lastCheck
    })
    const details = await fc.check(property, {
      seed,
      numRuns: Number.MAX_SAFE_INTEGER,
      endOnFailure: true,
      interruptAfterTimeLimit: seconds * 1_000,
      markInterruptAsFailure: false,
    })
    // The end of the time does not wait for the last check.
    await lastCheck.catch(() => {})
    const played = { runs, elapsedMs: performance.now() - startedAtMs }
    if (!find) return played
    const path = details.counterexamplePath ?? `${details.numRuns}`
    return { ...played, find: (await smallest(target, law, { seed, path })) ?? find }
  } finally {
    await law.stop()
  }
}

/** Begins at the input of the path. Undefined when the law holds for it now, as a law about concurrent calls may. */
async function smallest(target: Target, law: Law, from: { seed: number; path: string }): Promise<Find | undefined> {
  const property = fc.asyncProperty(target.inputs, (input) => checkOnce(law, input))
  const details = await fc.check(property, { ...from, interruptAfterTimeLimit: MAX_SHRINKING_MS })
  return details.counterexample
    ? { input: details.counterexample[0], error: details.errorInstance as Error }
    : undefined
}

/** Checks inputs that were kept, in their order. Undefined for each for which the law holds. */
export async function checkAll(target: Target, inputs: readonly unknown[]): Promise<(Error | undefined)[]> {
  const law = await target.start()
  const errors: (Error | undefined)[] = []
  try {
    for (const input of inputs)
      errors.push(
        await checkOnce(law, input).then(
          () => undefined,
          (error) => error,
        ),
      )
  } finally {
    await law.stop()
  }
  return errors
}

/** Checks the input as a file would keep it. */
async function checkOnce(law: Law, input: unknown): Promise<void> {
  const tooLate = () => new Error(`The law takes more than ${MAX_INPUT_MS / 1_000} s.`)
  const check = async () => law.check(JSON.parse(JSON.stringify(input)))
  await inTime(check(), MAX_INPUT_MS, tooLate)
}

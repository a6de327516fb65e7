import { expect, onTestFinished, test } from 'vitest'
import { runEvery } from '../../server/async/run-every.ts'
import { quietFor } from '../harness/waits.ts'

/** Work that is done every millisecond. Each run ends when the test says how. */
function workEveryMillisecond() {
  const runs: PromiseWithResolvers<void>[] = []
  const errors: unknown[] = []
  const work = () => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  }
  const { stop } = runEvery(1, work, (error) => errors.push(error))
  onTestFinished(stop)
  return { runs, errors, stop }
}

test('no run begins before the one before has ended', async () => {
  const { runs } = workEveryMillisecond()
  await expect.poll(() => runs.length).toBe(1)
  await quietFor(20)
  expect(runs).toHaveLength(1)
  runs[0]!.resolve()
  await expect.poll(() => runs.length).toBe(2)
})

test('a run that fails is reported, and the next one begins', async () => {
  const { runs, errors } = workEveryMillisecond()
  await expect.poll(() => runs.length).toBe(1)
  runs[0]!.reject('away')
  await expect.poll(() => runs.length).toBe(2)
  expect(errors).toEqual(['away'])
})

test('a run that throws before it waits is reported, and the next one begins', async () => {
  const errors: unknown[] = []
  const work = (): Promise<void> => {
    throw 'broken'
  }
  const { stop } = runEvery(1, work, (error) => errors.push(error))
  onTestFinished(stop)
  await expect.poll(() => errors.length).toBeGreaterThan(1)
  expect(errors[0]).toBe('broken')
})

test('after the stop no run begins, and one that fails because of the stop is not reported', async () => {
  const { runs, errors, stop } = workEveryMillisecond()
  await expect.poll(() => runs.length).toBe(1)
  stop()
  runs[0]!.reject('closed')
  await quietFor(20)
  expect(runs).toHaveLength(1)
  expect(errors).toEqual([])
})

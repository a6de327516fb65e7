import { setTimeout as sleep } from 'node:timers/promises'

// A test waits for an event. Where nothing reports the event, it waits for time by one of these, whose names give the
// reason. `test/waits.test.ts` refuses every other wait.

/** Nothing may happen for this long. The test then checks that nothing did. */
export const quietFor = (ms: number): Promise<void> => sleep(ms)

/** Lets a time limit, a cache or a period of the code under test end, which no event reports. */
export const outlast = (ms: number): Promise<void> => sleep(ms)

/** Lets bytes, a signal or a statement arrive in another process or at the other end, which no event reports. */
export const letArrive = (ms: number): Promise<void> => sleep(ms)

/** Lets load, an attack or a calm last this long. */
export const letRun = (ms: number): Promise<void> => sleep(ms)

/** A pause between two tries of a caller, or between two looks of a loop that asks for a state. */
export const pauseFor = (ms: number): Promise<void> => sleep(ms)

/** The scripted work or peer of a test takes this long. Resolves with the value. */
export function takes(ms: number): Promise<void>
export function takes<T>(ms: number, value: T): Promise<T>
export function takes<T>(ms: number, value?: T): Promise<T | undefined> {
  return sleep(ms, value)
}

/** Resolves or rejects as `work` does. Resolves with `late` when that takes longer than `ms`. */
export async function within<T, L>(ms: number, work: Promise<T>, late: L): Promise<T | L> {
  const timer = new AbortController()
  const timeout = sleep(ms, late, { signal: timer.signal }).catch(() => late)
  return Promise.race([work, timeout]).finally(() => timer.abort())
}

// The room of `measure-room.release.test.ts`: its tests notice some changes of this file, and miss others.

export const words = (list: string) => new Set(list.split(', '))

export const TEMPORARY = words('busy, deferred')

/** Tested, except at 3 attempts. */
export function delayOf(attempt: number): number {
  if (attempt > 3) return 600
  return 60 * attempt
}

/** Tested; it does not end when it counts the other way. */
export function sumOfDelays(attempts: number): number {
  let sum = 0
  for (let attempt = 1; attempt !== attempts + 1; attempt++) sum = delayOf(attempt) + sum
  return sum
}

/** Tested without the wait in its branch, which V8 takes to last to the end. */
export async function delayAfter(attempt: number, waits: boolean): Promise<number> {
  const waited = waits ? await Promise.resolve(5) : 0
  return waited + delayOf(attempt)
}

/** Not tested. */
export function isLast(attempt: number): boolean {
  return attempt === 6
}

import { runEvery } from '../async/run-every.ts'
import type { Caller, Right } from '../caller.ts'
import { reasonOf } from '../errors.ts'

export interface RightWatch {
  /** Calls `onLost` with the gate's error when the right is gone. Returns the function that ends the watch. */
  watch(caller: Caller, right: Right, onLost: (error: unknown) => void): () => void
  stop(): void
}

/** A revoked key ends its streams within 5 seconds. */
const EVERY_MS = 2_500

/** Checks the rights of streams again and again. Streams with one key or session share a check. */
export function createRightWatch(): RightWatch {
  const watched = new Map<string, { right: Right; onLost: Set<(error: unknown) => void> }>()

  async function checkAll(): Promise<void> {
    for (const [name, { right, onLost }] of [...watched]) {
      const error = await right.check().then(
        () => undefined,
        (error) => error,
      )
      // An outage of the database takes no right away.
      if (error === undefined || reasonOf(error) === 'transient_failure') continue
      watched.delete(name)
      for (const lose of onLost) lose(error)
    }
  }
  const checks = runEvery(EVERY_MS, checkAll, () => {})

  return {
    watch({ keyId, person, accountId }, right, onLost) {
      const name = keyId ?? `${person?.sessionId} ${accountId}`
      const entry = watched.get(name) ?? { right, onLost: new Set() }
      watched.set(name, entry)
      entry.onLost.add(onLost)
      return () => {
        entry.onLost.delete(onLost)
        if (entry.onLost.size === 0 && watched.get(name) === entry) watched.delete(name)
      }
    },
    stop: () => checks.stop(),
  }
}

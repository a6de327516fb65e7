export interface Slots {
  /**
   * Waits for a slot of this key and takes it; what it gives frees it again. Undefined when the signal came first, or as many wait as
   * may.
   */
  take(key: string, signal?: AbortSignal): Promise<(() => void) | undefined>
}

interface Taken {
  count: number
  /** In the order of their turns. */
  waiting: Set<() => void>
}

/** So many slots for each key. */
export function createSlots({ perKey, maxWaiting }: { perKey: number; maxWaiting: number }): Slots {
  const keys = new Map<string, Taken>()

  function free(key: string, taken: Taken): void {
    const [next] = taken.waiting
    if (next) next()
    else if (--taken.count === 0) keys.delete(key)
  }

  return {
    async take(key, signal) {
      if (signal?.aborted) return undefined
      const taken = keys.get(key) ?? { count: 0, waiting: new Set() }
      keys.set(key, taken)
      if (taken.count < perKey) taken.count++
      else if (taken.waiting.size >= maxWaiting || !(await turn(taken, signal))) return undefined
      return () => free(key, taken)
    },
  }
}

/** True when a slot was handed on, false when the signal came first. */
function turn({ waiting }: Taken, signal?: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const settle = (hasTurn: boolean) => {
    waiting.delete(mine)
    signal?.removeEventListener('abort', giveUp)
    resolve(hasTurn)
  }
  const mine = () => settle(true)
  const giveUp = () => settle(false)
  waiting.add(mine)
  signal?.addEventListener('abort', giveUp)
  return promise
}

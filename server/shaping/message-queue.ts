import type { WaitLimit } from '../../net/fair-slots.ts'

interface Waiting {
  resolve(mayGo: boolean): void
  untilMs: number
}

/**
 * The messages that may go to one site, on the clock of `performance.now()`. Those whose time has come and that no send
 * needs are kept, up to the stock.
 */
export function createMessageQueue(askForMore: () => void) {
  const waiting = new Set<Waiting>()
  let due: number[] = []
  let stock = 0
  let maxStock = 0
  let timer: NodeJS.Timeout | undefined

  function serve(): void {
    clearTimeout(timer)
    timer = undefined
    const nowMs = performance.now()
    for (const one of waiting) if (one.untilMs <= nowMs) end(one, false)
    while (due[0] !== undefined && due[0] <= nowMs) {
      due.shift()
      stock++
    }
    for (const one of waiting) {
      if (stock === 0) break
      stock--
      end(one, true)
    }
    stock = Math.min(stock, maxStock)
    const next = Math.min(due[0] ?? Infinity, ...[...waiting].map(({ untilMs }) => untilMs))
    if (waiting.size > 0 && next < Infinity) timer = setTimeout(serve, Math.max(1, next - nowMs))
  }

  function end(one: Waiting, mayGo: boolean): void {
    waiting.delete(one)
    one.resolve(mayGo)
  }

  return {
    /** Resolves to true when a message may go. */
    take({ untilMs = Infinity, signal }: WaitLimit): Promise<boolean> | true {
      serve()
      if (stock > 0 && waiting.size === 0) {
        stock--
        if (stock < maxStock / 2 && due.length === 0) askForMore()
        return true
      }
      return new Promise((resolve) => {
        const one: Waiting = {
          untilMs,
          resolve: (mayGo) => {
            signal?.removeEventListener('abort', leave)
            resolve(mayGo)
          },
        }
        const leave = () => end(one, false)
        signal?.addEventListener('abort', leave)
        waiting.add(one)
        serve()
        if (due.length < waiting.size) askForMore()
      })
    },
    /** The messages that are needed beyond those that are due already. */
    needed: () => Math.max(0, waiting.size + maxStock - stock - due.length),
    isWaiting: () => waiting.size > due.length,
    add(dueMs: readonly number[], stockable: number): void {
      maxStock = stockable
      due.push(...dueMs)
      serve()
    },
    /** The site has no limit any more. */
    letAllGo(): void {
      clearTimeout(timer)
      for (const one of waiting) end(one, true)
      due = []
      stock = 0
    },
    close(): void {
      clearTimeout(timer)
      for (const one of waiting) end(one, false)
      due = []
    },
  }
}

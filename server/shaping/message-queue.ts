import type { WaitLimit } from '../../net/fair-slots.ts'

interface Waiting {
  resolve(mayGo: boolean): void
  untilMs: number
}

/**
 * The messages that may go to one site, on the clock of `performance.now()`. Those whose time has come and that no send
 * needs are kept, up to the stock.
 */
export class MessageQueue {
  readonly #askForMore: () => void
  readonly #waiting = new Set<Waiting>()
  #due: number[] = []
  #stock = 0
  #maxStock = 0
  #timer: NodeJS.Timeout | undefined

  constructor(askForMore: () => void) {
    this.#askForMore = askForMore
  }

  /** Resolves to true when a message may go. */
  take({ untilMs = Infinity, signal }: WaitLimit): Promise<boolean> | true {
    this.#serve()
    if (this.#stock > 0 && this.#waiting.size === 0) {
      this.#stock--
      if (this.#stock < this.#maxStock / 2 && this.#due.length === 0) this.#askForMore()
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
      const leave = () => this.#end(one, false)
      signal?.addEventListener('abort', leave)
      this.#waiting.add(one)
      this.#serve()
      if (this.#due.length < this.#waiting.size) this.#askForMore()
    })
  }

  /** The messages that are needed beyond those that are due already. */
  needed(): number {
    return Math.max(0, this.#waiting.size + this.#maxStock - this.#stock - this.#due.length)
  }

  isWaiting(): boolean {
    return this.#waiting.size > this.#due.length
  }

  add(dueMs: readonly number[], stockable: number): void {
    this.#maxStock = stockable
    this.#due.push(...dueMs)
    this.#serve()
  }

  /** The site has no limit any more. */
  letAllGo(): void {
    this.#endAll(true)
    this.#stock = 0
  }

  close(): void {
    this.#endAll(false)
  }

  #serve(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const nowMs = performance.now()
    for (const one of this.#waiting) if (one.untilMs <= nowMs) this.#end(one, false)
    while (this.#due[0] !== undefined && this.#due[0] <= nowMs) {
      this.#due.shift()
      this.#stock++
    }
    for (const one of this.#waiting) {
      if (this.#stock === 0) break
      this.#stock--
      this.#end(one, true)
    }
    this.#stock = Math.min(this.#stock, this.#maxStock)
    const next = Math.min(this.#due[0] ?? Infinity, ...[...this.#waiting].map(({ untilMs }) => untilMs))
    if (this.#waiting.size > 0 && next < Infinity) {
      this.#timer = setTimeout(() => this.#serve(), Math.max(1, next - nowMs))
    }
  }

  #end(one: Waiting, mayGo: boolean): void {
    this.#waiting.delete(one)
    one.resolve(mayGo)
  }

  #endAll(mayGo: boolean): void {
    clearTimeout(this.#timer)
    for (const one of this.#waiting) this.#end(one, mayGo)
    this.#due = []
  }
}

/** What one stream has not sent yet. */
export interface EventQueue<Item> {
  /** Returns false when it is full: it takes no more, and `next` says so after what it has. */
  put(item: Item, size: number): boolean
  /** Makes `next` throw, also before what is there. */
  end(cause: unknown): void
  /** The next item; undefined when none comes within the time. */
  next(waitMs: number): Promise<Item | 'full' | undefined>
}

/** The most events of a queue. Streams of an account share them, so this bounds how far behind one may be. */
const MOST = 500

export function createEventQueue<Item>(): EventQueue<Item> {
  const items: { item: Item; size: number }[] = []
  let size = 0
  let isFull = false
  let ended: { cause: unknown } | undefined
  let wake: (() => void) | undefined

  return {
    put(item, added) {
      if (isFull || size + added > MOST) isFull = true
      else {
        items.push({ item, size: added })
        size += added
      }
      wake?.()
      return !isFull
    },
    end(cause) {
      ended ??= { cause }
      wake?.()
    },
    async next(waitMs) {
      if (items.length === 0 && !isFull && !ended) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, waitMs)
        wake = resolve
        await promise
        clearTimeout(timer)
        wake = undefined
      }
      if (ended) throw ended.cause
      const first = items.shift()
      if (!first) return isFull ? 'full' : undefined
      size -= first.size
      return first.item
    },
  }
}

import { fail } from '../errors.ts'

export interface ByteBudget {
  /**
   * Takes `bytes` of the budget, waiting in line for them; never more than there are in all. Returns the function that gives them
   * back. Throws `transient_failure` after the wait, and the signal's reason when the caller leaves.
   */
  take(bytes: number, signal: AbortSignal): Promise<() => void>
  /** Bytes given out now. */
  inUse(): number
}

interface Waiter {
  bytes: number
  go(): void
}

/** Memory that bodies in flight share. First come, first served: a large body is not overtaken by small ones for ever. */
export function createByteBudget({ totalBytes, waitMs }: { totalBytes: number; waitMs: number }): ByteBudget {
  const line: Waiter[] = []
  let free = totalBytes

  function serve(): void {
    while (line.length > 0 && line[0]!.bytes <= free) {
      const waiter = line.shift()!
      free -= waiter.bytes
      waiter.go()
    }
  }

  function share(bytes: number): () => void {
    let held = true
    return () => {
      if (!held) return
      held = false
      free += bytes
      serve()
    }
  }

  function take(wanted: number, signal: AbortSignal): Promise<() => void> {
    const bytes = Math.min(wanted, totalBytes)
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
      }
      const giveUp = (reason: unknown) => {
        settle()
        line.splice(line.indexOf(waiter), 1)
        serve()
        reject(reason)
      }
      const leave = () => giveUp(signal.reason)
      const waiter = {
        bytes,
        go() {
          settle()
          resolve(share(bytes))
        },
      }
      if (signal.aborted) return reject(signal.reason)
      const timer = setTimeout(() => giveUp(overloaded()), waitMs)
      signal.addEventListener('abort', leave)
      line.push(waiter)
      serve()
    })
  }

  return { take, inUse: () => totalBytes - free }
}

const overloaded = () =>
  fail(
    'transient_failure',
    'The service is overloaded: too many large requests are in flight. Nothing was sent; it is safe to retry.',
  )

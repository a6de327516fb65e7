import { fail } from '../errors.ts'
import { createTally } from '../tally.ts'

export interface ByteBudget {
  /**
   * Takes `bytes` of the budget for a holder, waiting in line for them; never more than there are in all. Returns the function that
   * gives them back. Throws `transient_failure` after the wait, and the signal's reason when the caller leaves.
   */
  take(bytes: number, holder: string, signal: AbortSignal): Promise<() => void>
  /** Bytes given out now. */
  inUse(): number
}

interface Waiter {
  bytes: number
  holder: string
  go(): void
}

/** How much one holder may have, as a multiple of what it leaves free for all others. */
const PART = 2

/**
 * Memory that bodies in flight share. First come, first served: a large body is not overtaken by small ones for ever. A holder takes
 * at most two thirds of the budget when it is alone, and less the more others take, so that there is always some left for the next
 * one; its further shares wait and let the others pass. Its first share needs only room.
 */
export function createByteBudget({ totalBytes, waitMs }: { totalBytes: number; waitMs: number }): ByteBudget {
  const line: Waiter[] = []
  const held = createTally()
  let free = totalBytes

  function serve(): void {
    for (let i = 0; i < line.length; ) {
      const waiter = line[i]!
      if (!isFair(waiter)) i++
      else if (waiter.bytes > free) return
      else {
        line.splice(i, 1)
        waiter.go()
      }
    }
  }

  function isFair({ bytes, holder }: Waiter): boolean {
    const own = held.of(holder)
    return own === 0 || own + bytes <= PART * (free - bytes)
  }

  function hold(holder: string, bytes: number): void {
    free -= bytes
    held.add(holder, bytes)
  }

  function share(holder: string, bytes: number): () => void {
    hold(holder, bytes)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      hold(holder, -bytes)
      serve()
    }
  }

  function take(wanted: number, holder: string, signal: AbortSignal): Promise<() => void> {
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
      const waiter: Waiter = {
        bytes,
        holder,
        go() {
          settle()
          resolve(share(holder, bytes))
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

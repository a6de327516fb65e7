import { createKeyedAmounts } from '../../../net/keyed-amounts.ts'
import { fail } from '../../errors.ts'

export interface ByteBudget {
  /**
   * Takes `bytes` of the budget for a holder, at most all of it, and waits in line for them. Returns the function that
   * returns them. Throws `transient_failure` after the wait, and the signal's reason when the caller leaves.
   */
  take(bytes: number, holder: string, signal: AbortSignal): Promise<() => void>
  /** Bytes that are taken. */
  inUse(): number
  totalBytes: number
}

interface Waiter {
  bytes: number
  holder: string
  go(): void
}

/** How much one holder may take, as a multiple of what it leaves free for all others. */
export const PART = 2

/**
 * Memory that bodies in flight share. First come, first served: small bodies do not overtake a large one for ever. A
 * holder takes at most two thirds of the budget when it is alone, and less the more others take, so that the next one
 * always finds some. Its further shares wait and let others pass. Its first share needs only room.
 */
export function createByteBudget({ totalBytes, waitMs }: { totalBytes: number; waitMs: number }): ByteBudget {
  const line: Waiter[] = []
  const heldBytes = createKeyedAmounts()
  let free = totalBytes

  function serve(): void {
    for (let i = 0, waiter = line[i]; waiter; waiter = line[i]) {
      if (!isFair(waiter)) i++
      else if (waiter.bytes > free) return
      else {
        line.splice(i, 1)
        waiter.go()
      }
    }
  }

  function isFair({ bytes, holder }: Waiter): boolean {
    const own = heldBytes.of(holder)
    return own === 0 || own + bytes <= PART * (free - bytes)
  }

  function hold(holder: string, bytes: number): void {
    free -= bytes
    heldBytes.add(holder, bytes)
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

  return { take, inUse: () => totalBytes - free, totalBytes }
}

const overloaded = () =>
  fail(
    'transient_failure',
    'The service is overloaded: too many large requests are in flight. Nothing was sent; it is safe to retry.',
  )

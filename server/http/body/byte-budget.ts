import { createKeyedAmounts } from '../../../net/keyed-amounts.ts'
import { fail } from '../../errors.ts'

/** Gives a share back, all but `keptBytes` of it. May be called again. */
export type GiveBack = (keptBytes?: number) => void

export interface ByteBudget {
  /**
   * Takes `bytes` of the budget for a holder, at most all of it, and waits in line for them. Throws `transient_failure`
   * after the wait, and the signal's reason when the caller leaves.
   */
  take(bytes: number, holder: string, signal: AbortSignal): Promise<GiveBack>
  /** The same without a wait: undefined where `take` would wait. */
  tryTake(bytes: number, holder: string): GiveBack | undefined
  /** Bytes that are taken. */
  inUse(): number
  totalBytes: number
}

interface Waiter {
  bytes: number
  holder: string
  number: number
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
  /** Those who wait, by holder. No line is empty. */
  const lines = new Map<string, Set<Waiter>>()
  const heldBytes = createKeyedAmounts()
  let free = totalBytes
  let nextNumber = 0

  function serve(): void {
    for (let next = firstInLine(); next && next.bytes <= free; next = firstInLine()) {
      leaveLine(next)
      next.go()
    }
  }

  /** Each holder's own come in order, so only the first of each is looked at. */
  function firstInLine(): Waiter | undefined {
    let first: Waiter | undefined
    for (const [waiter] of lines.values())
      if (isFair(waiter!) && waiter!.number < (first?.number ?? Infinity)) first = waiter
    return first
  }

  function isFair({ bytes, holder }: Pick<Waiter, 'bytes' | 'holder'>): boolean {
    const own = heldBytes.of(holder)
    return own === 0 || own + bytes <= PART * (free - bytes)
  }

  function leaveLine(waiter: Waiter): void {
    const line = lines.get(waiter.holder)
    line?.delete(waiter)
    if (line?.size === 0) lines.delete(waiter.holder)
  }

  function hold(holder: string, bytes: number): void {
    free -= bytes
    heldBytes.add(holder, bytes)
  }

  function share(holder: string, bytes: number): GiveBack {
    hold(holder, bytes)
    let heldBytes = bytes
    return (keptBytes = 0) => {
      if (keptBytes >= heldBytes) return
      hold(holder, keptBytes - heldBytes)
      heldBytes = keptBytes
      serve()
    }
  }

  function tryTake(wanted: number, holder: string): GiveBack | undefined {
    const bytes = Math.min(wanted, totalBytes)
    const mayPass = !lines.has(holder) && bytes <= free && isFair({ bytes, holder })
    return mayPass && !firstInLine() ? share(holder, bytes) : undefined
  }

  function take(wanted: number, holder: string, signal: AbortSignal): Promise<GiveBack> {
    const bytes = Math.min(wanted, totalBytes)
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
      }
      const giveUp = (reason: unknown) => {
        settle()
        leaveLine(waiter)
        serve()
        reject(reason)
      }
      const leave = () => giveUp(signal.reason)
      const waiter: Waiter = {
        bytes,
        holder,
        number: nextNumber++,
        go() {
          settle()
          resolve(share(holder, bytes))
        },
      }
      if (signal.aborted) return reject(signal.reason)
      const timer = setTimeout(() => giveUp(overloaded()), waitMs)
      signal.addEventListener('abort', leave)
      lines.set(holder, (lines.get(holder) ?? new Set()).add(waiter))
      serve()
    })
  }

  return { take, tryTake, inUse: () => totalBytes - free, totalBytes }
}

const overloaded = () =>
  fail(
    'transient_failure',
    'The service is overloaded: too many requests are in flight. Nothing was sent; it is safe to retry.',
  )

import { setImmediate } from 'node:timers/promises'

/** Resolves when it is the turn of one more piece of long work. */
export type NextTurn = () => Promise<void>

/**
 * Turns of the event loop, one for each that asks: work of tens of milliseconds each that becomes due at the same moment, such as the
 * messages of a batch, is done with a look at all other calls in between.
 */
export function createTurns(): NextTurn {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(() => setImmediate())
    return last
  }
}

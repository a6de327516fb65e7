/** Resolves when the caller may do its next piece of work. */
export type NextTurn = () => Promise<void>

/**
 * Lets pieces of long work run one at a time, in the order of calls. `pause` runs before each piece, so that the event
 * loop serves other requests in between. Used where many long pieces can be due at once: building large messages, and
 * reflection.
 */
export function createTurns(pause: () => Promise<void>): NextTurn {
  let last = Promise.resolve()
  return () => {
    last = last.then(pause)
    return last
  }
}

/** Resolves when the caller may do its next piece of work. */
export type NextPause = () => Promise<void>

/**
 * Lets pieces of long work run one at a time, in the order of calls. `pause` runs before each piece, so that the event
 * loop serves other requests in between. Used where many long pieces can be due at once: building large messages, and
 * reflection.
 */
export function createPauseQueue(pause: () => Promise<void>): NextPause {
  let last = Promise.resolve()
  return () => {
    last = last.then(pause)
    return last
  }
}

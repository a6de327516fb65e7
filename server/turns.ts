/** Resolves when the next piece of work may run. */
export type NextTurn = () => Promise<void>

/**
 * Creates turns, one for each call and in the order of calls. `pause` runs before each turn: work that becomes due at
 * the same moment is done piece by piece, and all other calls go on in between.
 */
export function createTurns(pause: () => Promise<void>): NextTurn {
  let last = Promise.resolve()
  return () => {
    last = last.then(pause)
    return last
  }
}

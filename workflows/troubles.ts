import type { Logger } from 'pino'

export interface Troubles {
  /** Logs what is wrong with something, unless that is known. */
  is(what: string, error: unknown): void
  /** Logs that it is over, if there was something. */
  isOver(what: string): void
}

/** What goes wrong again and again is logged when it begins, when it becomes another trouble, and when it is over. */
export function createTroubles(log: Logger): Troubles {
  const known = new Map<string, string>()
  return {
    is(what, error) {
      const words = String(error)
      if (known.get(what) === words) return
      known.set(what, words)
      log.warn({ err: error }, `${what}: trouble, trying again`)
    },
    isOver(what) {
      if (known.delete(what)) log.info(`${what}: trouble is over`)
    },
  }
}

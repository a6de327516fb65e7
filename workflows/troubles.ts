import type { Logger } from 'pino'

interface Troubles {
  /** Logs an error of a subject, unless that very error was logged before and is not over. */
  report(subject: string, error: unknown): void
  /** Logs that the subject works again, if there was an error. */
  resolve(subject: string): void
}

/** Logs an error that repeats when it begins, when it becomes another error, and when it is over. */
export function createTroubles(log: Logger): Troubles {
  const current = new Map<string, string>()
  return {
    report(subject, error) {
      const message = String(error)
      if (current.get(subject) === message) return
      current.set(subject, message)
      log.warn({ err: error }, `${subject}: trouble, trying again`)
    },
    resolve(subject) {
      if (current.delete(subject)) log.info(`${subject}: trouble is over`)
    },
  }
}

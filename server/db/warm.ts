import type { Sql } from 'postgres'

/** The driver opens a connection again no sooner than this after it has closed. */
export const REOPEN_MS = 500

export interface WarmConnection {
  client: Sql
  release(): void
}

/**
 * Connections for one statement at a time. Each statement takes the first that is free, so at low load the same few
 * server processes run all of them, with their plans and catalogues in the processor's cache. A pool of postgres.js
 * takes its connections in turn (docs/adr/0122-shared-statements.md).
 */
export function createWarmConnections(count: number, open: (onClose: () => void) => Sql) {
  const all = Array.from({ length: count }, () => {
    const one = {
      isBusy: false,
      closedMs: Number.NEGATIVE_INFINITY,
      release: () => {
        one.isBusy = false
      },
      client: open(() => {
        one.closedMs = performance.now()
      }),
    }
    return one
  })
  return {
    /** Returns undefined when none is free, or would first have to wait for its turn to open again. */
    take(): WarmConnection | undefined {
      const nowMs = performance.now()
      const one = all.find(({ isBusy, closedMs }) => !isBusy && nowMs > closedMs + REOPEN_MS)
      if (one) one.isBusy = true
      return one
    },
    end: (options?: { timeout?: number }) => Promise.all(all.map(({ client }) => client.end(options))),
  }
}

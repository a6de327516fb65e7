import type { ClientEntry, Logs } from '../reliability/logs.ts'

/** A moment by the two clocks of the logs. */
export interface Moment {
  /** By `performance.now()`. */
  atMs: number
  /** By `Date.now()`. */
  unixMs: number
}

export const momentNow = (): Moment => ({ atMs: performance.now(), unixMs: Date.now() })

/**
 * Forgets what came after the end of a back-up: a restore promises nothing about it. A request that was running then
 * counts as one without a response.
 */
export function rewind(logs: Logs, all: Logs, { atMs, unixMs }: Moment): void {
  const before = all.requests.filter((entry) => entry.sentAtMs < atMs)
  logs.requests.splice(
    0,
    Infinity,
    ...before.map((entry) => (entry.endedAtMs! < atMs ? { ...entry } : cut(entry, atMs))),
  )
  logs.mail.dots.splice(0, Infinity, ...all.mail.dots.filter((dot) => dot.atMs < atMs))
  logs.database.length = 0
  logs.processes.length = 0
  const posts = all.webhooks!.posts.filter((post) => post.arrivedMs < unixMs)
  logs.webhooks!.posts.splice(0, Infinity, ...posts)
}

function cut({ request, key, node, to, sentAtMs }: ClientEntry, endedAtMs: number): ClientEntry {
  return { request, key, node, to, sentAtMs, endedAtMs, lost: 'the back-up ends here' }
}

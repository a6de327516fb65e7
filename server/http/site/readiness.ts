import { setTimeout as pause } from 'node:timers/promises'

/**
 * The things a server depends on, each with its state. A state whose first word is not in `READY` makes the server not
 * ready. Words may follow it.
 */
export type Checks = Record<string, string>

export interface ReadinessReport {
  status: 'ready' | 'not_ready'
  checks: Checks & { draining: string }
}

export interface ReadinessParts {
  check(): Promise<Checks>
  draining: AbortSignal
}

export interface SharedReadiness {
  /** The current readiness. Its checks are at most a second old; the drain shows at once. */
  read(): Promise<ReadinessReport>
  /**
   * Yields whether the server is ready: now, and at each change. Ends with the signal, and after it has yielded the
   * drain.
   */
  follow(signal: AbortSignal): AsyncGenerator<boolean>
}

/**
 * `unknown` accompanies another state that says more. Sends need no worker: `none` delays retries and replays. The
 * primary serves in place of a replica that is behind, away or of another database. Sends do not wait for the
 * transaction by which streams of events are `held`. What all servers are `lacking` is no better in another process.
 */
const READY = new Set([
  'ok',
  'degraded',
  'polling',
  'none',
  'unknown',
  'behind',
  'away',
  'other_database',
  'held',
  'lacking',
])
const KEEP_MS = 1_000
const POLL_MS = 500

/**
 * One readiness for all callers: the checks query the database and Temporal, and any caller may request it. A check
 * starts at most once a second and never beside another, so that a fault shows within a second and the duration of one
 * check.
 */
export function shareReadiness({ check, draining }: ReadinessParts): SharedReadiness {
  const checks = atMostOnceIn(KEEP_MS, check)
  const followers = new Set<ReadinessFollower>()
  let polling = false
  let ready: boolean | undefined

  async function read(): Promise<ReadinessReport> {
    const states = await checks()
    const works = Object.values(states).every((state) => READY.has(state.replace(/ .*/s, '')))
    const status = works && !draining.aborted ? 'ready' : 'not_ready'
    return { status, checks: { ...states, draining: draining.aborted ? 'yes' : 'no' } }
  }

  async function refresh(): Promise<void> {
    const { status } = await read()
    const was = ready
    ready = status === 'ready'
    if (ready !== was) for (const { wake } of followers) wake()
  }

  /** Reads once for all followers, while there are any. */
  async function poll(): Promise<void> {
    if (polling) return
    polling = true
    for (; followers.size > 0; await pause(POLL_MS, undefined, { ref: false })) await refresh().catch(() => {})
    polling = false
  }

  async function* follow(signal: AbortSignal): AsyncGenerator<boolean> {
    const follower = createFollower([signal, draining])
    followers.add(follower)
    void poll()
    try {
      await refresh()
      for (let last: boolean | undefined; !signal.aborted; await follower.woken()) {
        const now = ready === true && !draining.aborted
        if (now !== last) yield now
        last = now
        if (draining.aborted) return
      }
    } finally {
      followers.delete(follower)
      follower.stop()
    }
  }

  return { read, follow }
}

type ReadinessFollower = ReturnType<typeof createFollower>

/** Sleeps until it is woken or a signal is aborted. A wake while it is awake ends its next sleep at once. */
function createFollower(signals: AbortSignal[]) {
  let next = Promise.withResolvers<void>()
  const wake = () => next.resolve()
  for (const signal of signals) signal.addEventListener('abort', wake)
  return {
    wake,
    async woken() {
      await next.promise
      next = Promise.withResolvers()
    },
    stop() {
      for (const signal of signals) signal.removeEventListener('abort', wake)
    },
  }
}

/** Shares a result for `keepMs` from the start of its query. Starts no second query before the first has ended. */
function atMostOnceIn<Result>(keepMs: number, query: () => Promise<Result>): () => Promise<Result> {
  let shared: { result: Promise<Result>; startedAt: number; pending: boolean } | undefined
  return () => {
    if (shared && (shared.pending || performance.now() - shared.startedAt < keepMs)) return shared.result
    const current = { result: query(), startedAt: performance.now(), pending: true }
    const settle = () => {
      current.pending = false
    }
    current.result.then(settle, settle)
    shared = current
    return current.result
  }
}

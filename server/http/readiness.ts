import { setTimeout as pause } from 'node:timers/promises'

/** The parts a server depends on, each `ok`, `degraded` or what is wrong with it. */
export type Checks = Record<string, string>

export interface Readiness {
  status: 'ready' | 'not_ready'
  checks: Checks & { draining: string }
}

export interface ReadinessParts {
  check(): Promise<Checks>
  draining: AbortSignal
}

export interface SharedReadiness {
  /** The readiness now. Its checks are at most a second old; the drain shows at once. */
  read(): Promise<Readiness>
  /** Yields whether the server is ready, first as it is, then at each change. Ends with the signal, and after telling the drain. */
  follow(signal: AbortSignal): AsyncGenerator<boolean>
}

const READY = new Set(['ok', 'degraded'])
const KEEP_MS = 1_000
const POLL_MS = 500

/**
 * One readiness for everybody who asks: the checks ask the database and Temporal, and anybody may ask us. A check begins at most
 * once a second and never beside another, so that a fault shows within a second and the time of one check.
 */
export function shareReadiness({ check, draining }: ReadinessParts): SharedReadiness {
  const checks = atMostOnceIn(KEEP_MS, check)
  const followers = new Set<Follower>()
  let polling = false
  let ready: boolean | undefined

  async function read(): Promise<Readiness> {
    const found = await checks()
    const works = Object.values(found).every((state) => READY.has(state))
    const status = works && !draining.aborted ? 'ready' : 'not_ready'
    return { status, checks: { ...found, draining: draining.aborted ? 'yes' : 'no' } }
  }

  async function refresh(): Promise<void> {
    const { status } = await read()
    const was = ready
    ready = status === 'ready'
    if (ready !== was) for (const { wake } of followers) wake()
  }

  /** One question for all followers, as long as there are any. */
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
      for (let told: boolean | undefined; !signal.aborted; await follower.woken()) {
        const now = ready === true && !draining.aborted
        if (now !== told) yield now
        told = now
        if (draining.aborted) return
      }
    } finally {
      followers.delete(follower)
      follower.stop()
    }
  }

  return { read, follow }
}

type Follower = ReturnType<typeof createFollower>

/** Sleeps until it is woken, or a signal is aborted. A wake while it is awake ends its next sleep at once. */
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

/** Shares an answer for `keepMs` from the moment its question began, and asks no second question before the first is answered. */
function atMostOnceIn<Answer>(keepMs: number, ask: () => Promise<Answer>): () => Promise<Answer> {
  let shared: { answer: Promise<Answer>; askedAt: number; pending: boolean } | undefined
  return () => {
    if (shared && (shared.pending || performance.now() - shared.askedAt < keepMs)) return shared.answer
    const question = { answer: ask(), askedAt: performance.now(), pending: true }
    const settle = () => {
      question.pending = false
    }
    question.answer.then(settle, settle)
    shared = question
    return question.answer
  }
}

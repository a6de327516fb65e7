import type { Domain } from './domains.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

interface Pace {
  /** Since the wait for the records began. */
  untilMs: number
  everyMs: number
}

/** How often DNS is asked for awaited records: those of a new domain, or of its next DKIM key. */
const AWAITED: readonly Pace[] = [
  { untilMs: 10 * MINUTE, everyMs: MINUTE },
  { untilMs: DAY, everyMs: 5 * MINUTE },
  { untilMs: 14 * DAY, everyMs: HOUR },
]
/** The most time between two checks that counts: for more of it the service made none, or its clock jumped. */
const COUNTED_MS = 2 * HOUR
/** A verified domain that fails lapses after the first, and counts as abandoned by its owner after the second. */
const LAPSES_MS = 3 * DAY
const GIVEN_UP_MS = 14 * DAY

/** `unanswered`: no record is known to be wrong, and not all are known to be right. */
export type CheckOutcome = 'passed' | 'failed' | 'unanswered'

export type Standing = Pick<Domain, 'status' | 'verifiedAt' | 'failingSince' | 'nextCheckAt'>

/**
 * The standing of a domain after a check. An unanswered check does not count against the domain: a verified domain
 * lapses only when its records are wrong, not while their servers are silent. `previous` is when it was checked before.
 */
export function afterCheck(domain: Standing, outcome: CheckOutcome, now: Date, previous = now): Standing {
  const { status, verifiedAt, failingSince, nextCheckAt } = domain
  if (isVouchedFor(domain)) return { status, verifiedAt, failingSince, nextCheckAt }
  if (outcome === 'passed') {
    return {
      status: 'verified',
      verifiedAt: domain.verifiedAt ?? now,
      failingSince: null,
      nextCheckAt: later(now, DAY),
    }
  }
  const wasVerified = status === 'verified' || status === 'lapsed'
  if (!wasVerified) return afterWaiting(domain, now)
  const uncheckedMs = status === 'verified' ? Math.max(0, now.getTime() - previous.getTime() - COUNTED_MS) : 0
  return afterFailure({ ...domain, failingSince: failingSince && later(failingSince, uncheckedMs) }, outcome, now)
}

/** Whether the operator vouches for the domain: DNS is not checked automatically, and its answers change nothing. */
export function isVouchedFor({ status, nextCheckAt }: Standing): boolean {
  return status === 'verified' && nextCheckAt === null
}

/** The standing of a domain that is verified, or was before it lapsed. */
function afterFailure(domain: Standing, outcome: 'failed' | 'unanswered', now: Date): Standing {
  const failingSince = domain.failingSince ?? (outcome === 'failed' ? now : null)
  const failingMs = failingSince ? now.getTime() - failingSince.getTime() : 0
  const lapses = outcome === 'failed' && failingMs >= LAPSES_MS
  return {
    status: lapses ? 'lapsed' : domain.status,
    verifiedAt: domain.verifiedAt,
    failingSince,
    nextCheckAt: later(now, failingMs < GIVEN_UP_MS ? HOUR : DAY),
  }
}

/**
 * The standing of a domain that was never verified. A failed one is checked only on request, which restarts its time.
 */
function afterWaiting(domain: Standing, now: Date): Standing {
  const failingSince = domain.status === 'failed' ? now : (domain.failingSince ?? now)
  const nextCheckAt = nextAwaited(failingSince, now)
  return { status: nextCheckAt ? 'pending' : 'failed', verifiedAt: domain.verifiedAt, failingSince, nextCheckAt }
}

/** When DNS is asked again for records awaited since then; null when they are no longer awaited. */
export function nextAwaited(since: Date, now: Date): Date | null {
  const waitedMs = now.getTime() - since.getTime()
  const pace = AWAITED.find(({ untilMs }) => waitedMs < untilMs)
  return pace ? later(now, pace.everyMs) : null
}

function later(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms)
}

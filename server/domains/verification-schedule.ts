import type { Domain } from './domains.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

interface Pace {
  /** Since the wait for the records began. */
  untilMs: number
  everyMs: number
}

/** How often DNS is asked for records that are awaited: of a domain that was added, or of its next DKIM key. */
const AWAITED: readonly Pace[] = [
  { untilMs: 10 * MINUTE, everyMs: MINUTE },
  { untilMs: DAY, everyMs: 5 * MINUTE },
  { untilMs: 14 * DAY, everyMs: HOUR },
]
/** A verified domain that fails has lapsed after this, and is given up by whoever owns it after that. */
const LAPSES_MS = 3 * DAY
const GIVEN_UP_MS = 14 * DAY

/** `unanswered`: no record is known to be wrong, and not all are known to be right. */
export type Outcome = 'passed' | 'failed' | 'unanswered'

export type Standing = Pick<Domain, 'status' | 'verifiedAt' | 'failingSince' | 'nextCheckAt'>

/**
 * Where a domain stands after a check. What a check could not find out counts against nobody: a verified domain lapses only when
 * its records are wrong, not while their servers are silent.
 */
export function afterCheck(domain: Standing, outcome: Outcome, now: Date): Standing {
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
  return wasVerified ? afterFailure(domain, outcome, now) : afterWaiting(domain, now)
}

/** Its operator said that it is verified: DNS is not asked by itself, and what it says changes nothing. */
export function isVouchedFor({ status, nextCheckAt }: Standing): boolean {
  return status === 'verified' && nextCheckAt === null
}

/** Of a domain that is verified, or was before it lapsed. */
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

/** Of a domain that was never verified. One that has failed is looked at only because somebody asks: that begins its time anew. */
function afterWaiting(domain: Standing, now: Date): Standing {
  const failingSince = domain.status === 'failed' ? now : (domain.failingSince ?? now)
  const nextCheckAt = nextAwaited(failingSince, now)
  return { status: nextCheckAt ? 'pending' : 'failed', verifiedAt: domain.verifiedAt, failingSince, nextCheckAt }
}

/** When DNS is asked again for records that are awaited since then; null when they are awaited no longer. */
export function nextAwaited(since: Date, now: Date): Date | null {
  const waitedMs = now.getTime() - since.getTime()
  const pace = AWAITED.find(({ untilMs }) => waitedMs < untilMs)
  return pace ? later(now, pace.everyMs) : null
}

function later(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms)
}

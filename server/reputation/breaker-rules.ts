import type { BreakerLimits } from '../config/limits.ts'

export type State = 'closed' | 'open' | 'half_open'
export type Cause = 'bounces' | 'complaints'

interface Counts {
  emails: number
  /** Those whose mailbox does not exist, also where that was reported later. */
  bounces: number
  complaints: number
}

/** A domain's breaker, and what was counted that it is judged by. */
export interface Judged extends Counts {
  state: State
  /** When it took this state; null when it has always been closed. */
  changedAt: string | null
  /** What opened it last; null when nothing has. */
  cause: Cause | null
  /** Until it may be half open, or, half open, until the next minute when this one is used up. */
  waitSeconds: number
}

/** A change of state that is due, and what it comes from: without a cause, from the same as the one before. */
export interface Turn {
  state: State
  cause?: Cause
}

/** One or two complaints are a high share of few emails, and prove nothing. */
const MIN_COMPLAINTS = 3
/** A half-open breaker closes after so many emails that neither bounced hard nor were complained about. */
const CLEAN_EMAILS = 100

export function turnOf(judged: Judged, thresholds: BreakerLimits): Turn | undefined {
  const { emails, bounces, complaints, waitSeconds } = judged
  const clean = emails - bounces - complaints
  switch (judged.state) {
    case 'closed':
      return emails >= thresholds.minEmails ? openedBy(judged, emails, thresholds) : undefined
    case 'open':
      return waitSeconds <= 0 ? { state: 'half_open' } : undefined
    case 'half_open':
      // What would open it in a hundred emails opens it again, however many there were.
      return openedBy(judged, CLEAN_EMAILS, thresholds) ?? (clean >= CLEAN_EMAILS ? { state: 'closed' } : undefined)
  }
}

// Shares are compared after the division: 7 / 100 is the number that 0.07 is, while 0.07 * 100 is more than 7.

function openedBy({ bounces, complaints }: Counts, emails: number, thresholds: BreakerLimits): Turn | undefined {
  if (bounces / emails >= thresholds.bounceOpen) return { state: 'open', cause: 'bounces' }
  if (complaints < MIN_COMPLAINTS || complaints / emails < thresholds.complaintOpen) return undefined
  return { state: 'open', cause: 'complaints' }
}

/** Whether a closed breaker is near to opening. */
export function warns({ emails, bounces, complaints }: Counts, thresholds: BreakerLimits): boolean {
  if (emails < thresholds.minEmails) return false
  return bounces / emails >= thresholds.bounceWarn || complaints / emails >= thresholds.complaintWarn
}

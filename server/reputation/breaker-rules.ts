import type { BreakerLimits } from '../config/limits.ts'

export type State = 'closed' | 'open' | 'half_open'
export type Cause = 'bounces' | 'complaints'

interface Counts {
  /** Copies of messages: one for each recipient. */
  copies: number
  /** Copies whose mailbox does not exist, including those reported later. */
  bounces: number
  complaints: number
}

/** The state of a domain's breaker, and the counts that decide its next one. */
export interface BreakerReading extends Counts {
  state: State
  /** When it took this state; null when it has always been closed. */
  changedAt: string | null
  /** What opened it last; null when nothing has. */
  cause: Cause | null
  /** Open: until it may be half open. Half open: until the next minute when this one is used up. */
  waitSeconds: number
}

/** A change of state that is due. Without a cause, the cause of the state before remains. */
export interface Transition {
  state: State
  cause?: Cause
}

/** One or two complaints are a high share of few copies, and prove nothing. */
const MIN_COMPLAINTS = 3
/** A half-open breaker closes after this many copies that neither bounced hard nor caused a complaint. */
const CLEAN_COPIES = 100

export function transitionOf(reading: BreakerReading, thresholds: BreakerLimits): Transition | undefined {
  const { copies, bounces, complaints, waitSeconds } = reading
  const cleanCopies = copies - bounces - complaints
  switch (reading.state) {
    case 'closed':
      return copies >= thresholds.minEmails ? openingOf(reading, copies, thresholds) : undefined
    case 'open':
      return waitSeconds <= 0 ? { state: 'half_open' } : undefined
    case 'half_open':
      // What would open it in a hundred copies opens it again, even after fewer.
      return (
        openingOf(reading, CLEAN_COPIES, thresholds) ?? (cleanCopies >= CLEAN_COPIES ? { state: 'closed' } : undefined)
      )
  }
}

// Shares are compared after the division: 7 / 100 equals 0.07, while 0.07 * 100 is more than 7.

function openingOf({ bounces, complaints }: Counts, copies: number, thresholds: BreakerLimits): Transition | undefined {
  if (bounces / copies >= thresholds.bounceOpen) return { state: 'open', cause: 'bounces' }
  if (complaints < MIN_COMPLAINTS || complaints / copies < thresholds.complaintOpen) return undefined
  return { state: 'open', cause: 'complaints' }
}

/** Whether the rates of a closed breaker are over a warning threshold. */
export function isNearOpening({ copies, bounces, complaints }: Counts, thresholds: BreakerLimits): boolean {
  if (copies < thresholds.minEmails) return false
  return bounces / copies >= thresholds.bounceWarn || complaints / copies >= thresholds.complaintWarn
}

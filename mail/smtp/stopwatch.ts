import { unblocked } from './alarm.ts'
import type { TimedPhase, Timings, Verdict } from './attempt.ts'

export type Stopwatch = ReturnType<typeof createStopwatch>

/** Times are on the clock of `performance.now()`. */
export type PhaseReport = (phase: TimedPhase, fromMs: number, toMs: number) => void

/** Measures the phases of one try at a host. `report` is called at the end of each. */
export function createStopwatch(report?: PhaseReport) {
  const shared: Timings = {}
  /** RCPT is one command for each recipient. */
  const rcptMs: number[] = []
  let phase: TimedPhase | undefined
  let recipient = 0
  let sinceMs = 0
  /** The same on the clock of what servers keep us waiting for. */
  let unblockedSinceMs = 0
  let longestRcptMs: number | undefined

  /** Ends the current phase and begins the next. A phase that comes again adds up. */
  function begin(next: TimedPhase, index = 0): void {
    measure(next)
    recipient = index
  }

  function end(): void {
    measure(undefined)
  }

  function measure(next: TimedPhase | undefined): void {
    const nowMs = performance.now()
    const unblockedMs = unblocked.now()
    if (phase === 'rcpt') {
      rcptMs[recipient] = nowMs - sinceMs
      longestRcptMs = Math.max(longestRcptMs ?? 0, unblockedMs - unblockedSinceMs)
    } else if (phase) add(shared, phase, nowMs - sinceMs)
    if (phase) report?.(phase, sinceMs, nowMs)
    phase = next
    sinceMs = nowMs
    unblockedSinceMs = unblockedMs
  }

  /** Adds the phases that a recipient went through. What follows RCPT is not for a recipient that was refused there. */
  function addTo(total: Timings, index: number, verdict?: Verdict): void {
    for (const [name, ms] of Object.entries(shared) as [TimedPhase, number][])
      if (verdict?.phase !== 'rcpt' || !AFTER_RCPT.has(name)) add(total, name, ms)
    if (rcptMs[index] !== undefined) add(total, 'rcpt', rcptMs[index])
  }

  return {
    begin,
    end,
    addTo,
    /** The longest wait for a reply to RCPT while this process could have read it, if there was one. */
    longestRcptMs: () => longestRcptMs,
  }
}

const AFTER_RCPT = new Set<TimedPhase>(['data', 'dot'])

function add(timings: Timings, phase: TimedPhase, ms: number): void {
  timings[phase] = (timings[phase] ?? 0) + ms
}

import type { ActivityOptions } from '@temporalio/workflow'
import { LONGEST_ATTEMPT_MS } from './worker-limits.ts'

// An activity fails only for a fault of the service. It is repeated until the fault is over, and no attempt of a
// customer is spent on it.
const retry = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 30_000 }

/** How soon Temporal notices that a worker died. */
const heartbeatTimeout = 15_000

export const ATTEMPT_OPTIONS: ActivityOptions = {
  startToCloseTimeout: LONGEST_ATTEMPT_MS + 60_000,
  heartbeatTimeout,
  // POSTs in flight end before their dispatches do.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
}

export const MINUTE_OPTIONS: ActivityOptions = { startToCloseTimeout: 60_000, heartbeatTimeout, retry }

export const RETENTION_OPTIONS: ActivityOptions = { startToCloseTimeout: 3_600_000, heartbeatTimeout: 60_000, retry }

/** A run begins no check after 50 seconds. */
export const VERIFICATION_OPTIONS: ActivityOptions = { startToCloseTimeout: 120_000, heartbeatTimeout: 15_000, retry }

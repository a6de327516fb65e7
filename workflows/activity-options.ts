import type { ActivityOptions } from '@temporalio/workflow'
import { LONGEST_ATTEMPT_MS } from './limits.ts'

// An activity fails only by a fault of ours, and is repeated until that is over: no attempt of a customer is spent on it.
const retry = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 30_000 }

/** A worker that died is noticed by this. */
const heartbeatTimeout = 15_000

export const ATTEMPT_OPTIONS: ActivityOptions = {
  startToCloseTimeout: LONGEST_ATTEMPT_MS + 60_000,
  heartbeatTimeout,
  // What is in flight ends before the dispatches do.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
}

export const FINISH_OPTIONS: ActivityOptions = { startToCloseTimeout: 60_000, heartbeatTimeout, retry }

export const RETENTION_OPTIONS: ActivityOptions = { startToCloseTimeout: 3_600_000, heartbeatTimeout: 60_000, retry }

/** A run begins no check after 50 seconds. */
export const VERIFICATION_OPTIONS: ActivityOptions = { startToCloseTimeout: 120_000, heartbeatTimeout: 15_000, retry }

import { Code, ConnectError } from '@connectrpc/connect'
import { RetryInfoSchema } from '../gen/google/rpc/error_details_pb.ts'
import { errorCodeOf } from './feedback/call-error.ts'

/**
 * Longest wait for a place without an error message. A session's limit of a minute is longer, and the person sees it.
 */
const MAX_WAIT_SECONDS = 5
const MAX_REPEATS = 2
const MAX_REPEATS_FOR_A_PLACE = 5

/**
 * Whether a read that failed is sent again. An error code is an answer, and a call that ran out of time was long
 * enough: neither is repeated. An exception is a read of an account that has too many at the moment.
 */
export function isRepeated(failures: number, error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false
  const waitSeconds = waitOf(error)
  if (waitSeconds !== undefined) return waitSeconds <= MAX_WAIT_SECONDS && failures < MAX_REPEATS_FOR_A_PLACE
  return errorCodeOf(error) === undefined && error.code !== Code.DeadlineExceeded && failures < MAX_REPEATS
}

/** How long after a failure a read is sent again, in milliseconds. Tabs that failed together do not repeat together. */
export function repeatAfterMs(failures: number, error: unknown): number {
  const waitSeconds = waitOf(error)
  return waitSeconds === undefined ? 1_000 * 2 ** failures : 1_000 * (waitSeconds + Math.random())
}

/** The seconds to wait for a call over a limit; undefined for any other error. */
function waitOf(error: unknown): number | undefined {
  if (!(error instanceof ConnectError) || errorCodeOf(error) !== 'rate_limit_exceeded') return undefined
  const [info] = error.findDetails(RetryInfoSchema)
  return Number(info?.retryDelay?.seconds ?? 0)
}

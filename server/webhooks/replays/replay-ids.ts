import { publicId } from '../../db/ids.ts'

/** The id of the workflow that dispatches the events of a replay. */
export const replayWorkflowId = (replayId: string): string => `replay-${publicId('rpl', replayId)}`

/** The last 32 bits of a dispatch's id are its number within its replay. */
const NUMBER_DIGITS = 8
const prefixOf = (replayId: string) => replayId.slice(0, -NUMBER_DIGITS)

/** More than an account has endpoints. */
const ENDPOINTS = 16

/**
 * The id of a replay's dispatch, by the numbers of its event and of its endpoint, each counted from 0. All dispatches
 * of a replay are side by side in the primary key, so counting them needs no column, and no event can be
 * dispatched twice.
 */
export const replayDispatchId = (replayId: string, event: number, endpoint: number): string =>
  prefixOf(replayId) + (event * ENDPOINTS + endpoint).toString(16).padStart(NUMBER_DIGITS, '0')

/** The smallest and the largest id that a dispatch of this replay can have. */
export function dispatchIdsOf(replayId: string): { first: string; last: string } {
  return { first: `${prefixOf(replayId)}00000000`, last: `${prefixOf(replayId)}ffffffff` }
}

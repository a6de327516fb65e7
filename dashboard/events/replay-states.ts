import { type Replay, ReplayState } from '../../gen/verdict/admin/v1/replays_pb.ts'
import type { ShownState } from '../status/statuses.ts'

/** How each state of a replay is shown that says all about it. */
const STATES: Partial<Record<ReplayState, ShownState>> = {
  [ReplayState.CANCELLED]: { tone: 'neutral', word: 'Cancelled' },
  [ReplayState.FAILED]: { tone: 'error', word: 'No endpoint' },
}

export type ReplayCounts = Pick<Replay, 'state' | 'total' | 'dispatched' | 'acknowledged' | 'waiting'>

/** The state of a replay. When it has dispatched every event, it shows what the endpoint did. */
export function stateOfReplay({ state, total, dispatched, acknowledged, waiting }: ReplayCounts): ShownState {
  if (state === ReplayState.RUNNING) {
    // After the last acknowledgement it has only its own end to store.
    return { tone: 'waiting', word: total > 0 && acknowledged >= total ? 'Finishing' : 'Under way' }
  }
  if (state !== ReplayState.FINISHED) return STATES[state] ?? { tone: 'neutral', word: 'Unknown' }
  if (waiting > 0) return { tone: 'waiting', word: 'Retries wait' }
  if (dispatched === 0) return { tone: 'neutral', word: 'Nothing to send' }
  if (acknowledged >= dispatched) return { tone: 'delivered', word: 'Acknowledged' }
  return acknowledged === 0
    ? { tone: 'error', word: 'Not acknowledged' }
    : { tone: 'warning', word: 'Partly acknowledged' }
}

import { type Replay, ReplayState } from '../../gen/verdict/admin/v1/replays_pb.ts'
import type { Tone } from '../status/statuses.ts'

/** How each state of a replay is shown. */
export const REPLAY_STATES: Record<ReplayState, { tone: Tone; word: string }> = {
  [ReplayState.UNSPECIFIED]: { tone: 'neutral', word: 'Unknown' },
  [ReplayState.RUNNING]: { tone: 'waiting', word: 'Under way' },
  [ReplayState.FINISHED]: { tone: 'delivered', word: 'Finished' },
  [ReplayState.CANCELLED]: { tone: 'neutral', word: 'Cancelled' },
  [ReplayState.FAILED]: { tone: 'error', word: 'No endpoint' },
}

/** A replay that runs after its last acknowledgement has only its own end to store. */
export function shownReplay({ state, total, acknowledged }: Pick<Replay, 'state' | 'total' | 'acknowledged'>) {
  const isFinishing = state === ReplayState.RUNNING && total > 0 && acknowledged >= total
  return isFinishing ? { tone: 'waiting' as const, word: 'Finishing' } : REPLAY_STATES[state]!
}

import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { type Attempt, type Dispatch, DispatchKind, DispatchState } from '../../gen/verdict/v1/events_pb.ts'
import { msOf } from '../time/ms-of.ts'

/** What happened to an event on its way to the endpoint, or will happen. */
export type TimelineEntry =
  | { kind: 'recorded'; at: Timestamp | undefined }
  | { kind: 'replayed'; at: Timestamp | undefined; dispatch: Dispatch }
  | { kind: 'attempt'; at: Timestamp | undefined; dispatch: Dispatch; attempt: Attempt }
  | { kind: 'ended'; at: Timestamp; dispatch: Dispatch; words: string }
  /** `at` is absent while the attempt runs. */
  | { kind: 'next'; at: Timestamp | undefined; dispatch: Dispatch }

/** How a dispatch ended that the endpoint did not acknowledge. */
const ENDS: Partial<Record<DispatchState, string>> = {
  [DispatchState.EXHAUSTED]: 'No more attempts. Replay the event to try again.',
  [DispatchState.CANCELLED]: 'Cancelled: the endpoint was deleted, or the workflow was cancelled.',
}

/** The time line of an event: what has happened, oldest first, and then what comes next. */
export function timelineOf(recordedAt: Timestamp | undefined, dispatches: Dispatch[]): TimelineEntry[] {
  const past = dispatches.flatMap(pastOf)
  const next = dispatches.flatMap((dispatch): TimelineEntry[] =>
    dispatch.state === DispatchState.WAITING ? [{ kind: 'next', at: dispatch.nextAttemptAt, dispatch }] : [],
  )
  past.sort((a, b) => msOf(a.at) - msOf(b.at))
  return [{ kind: 'recorded', at: recordedAt }, ...past, ...next]
}

function pastOf(dispatch: Dispatch): TimelineEntry[] {
  const { kind, createdAt, state, endedAt, attempts } = dispatch
  const end = ENDS[state]
  return [
    ...(kind === DispatchKind.REPLAY ? [{ kind: 'replayed' as const, at: createdAt, dispatch }] : []),
    ...attempts.map((attempt) => ({ kind: 'attempt' as const, at: attempt.startedAt, dispatch, attempt })),
    ...(end && endedAt ? [{ kind: 'ended' as const, at: endedAt, dispatch, words: end }] : []),
  ]
}

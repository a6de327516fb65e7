import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { timelineOf } from '../../dashboard/attempts/timeline.ts'
import { DispatchKind, DispatchSchema, DispatchState } from '../../gen/verdict/v1/events_pb.ts'

const at = timestampFromMs
const attempt = (number: number, ms: number) => ({ number, startedAt: at(ms) })

function dispatch(init: MessageInitShape<typeof DispatchSchema>) {
  return create(DispatchSchema, { kind: DispatchKind.ORIGINAL, createdAt: at(0), ...init })
}

const kinds = (entries: ReturnType<typeof timelineOf>) => entries.map(({ kind }) => kind)

test('an event without dispatches was recorded and nothing more', () => {
  expect(kinds(timelineOf(at(0), []))).toEqual(['recorded'])
})

test('attempts of the event and of its replays stand in the order of their time, and what comes next stands last', () => {
  const original = dispatch({
    state: DispatchState.WAITING,
    attempts: [attempt(1, 0), attempt(2, 60_000)],
    nextAttemptAt: at(360_000),
  })
  const replay = dispatch({
    kind: DispatchKind.REPLAY,
    createdAt: at(30_000),
    state: DispatchState.ACKNOWLEDGED,
    endedAt: at(31_000),
    attempts: [attempt(1, 30_500)],
  })
  const entries = timelineOf(at(0), [original, replay])
  expect(kinds(entries)).toEqual(['recorded', 'attempt', 'replayed', 'attempt', 'attempt', 'next'])
  expect(entries.at(-1)).toMatchObject({ at: at(360_000), dispatch: original })
})

test('a dispatch that ended without success says so', () => {
  const ended = { endedAt: at(100), attempts: [attempt(1, 0)] }
  const entries = timelineOf(at(0), [dispatch({ ...ended, state: DispatchState.EXHAUSTED })])
  expect(kinds(entries)).toEqual(['recorded', 'attempt', 'ended'])
  expect(kinds(timelineOf(at(0), [dispatch({ ...ended, state: DispatchState.ACKNOWLEDGED })]))).not.toContain('ended')
})

test('an attempt that runs is next, and has no time', () => {
  expect(timelineOf(at(0), [dispatch({ state: DispatchState.WAITING })]).at(-1)).toMatchObject({
    kind: 'next',
    at: undefined,
  })
})

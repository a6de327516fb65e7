import { expect, test } from 'vitest'
import { type ReplayCounts, stateOfReplay } from '../../dashboard/events/replay-states.ts'
import { ReplayState } from '../../gen/verdict/admin/v1/replays_pb.ts'

const finished: ReplayCounts = { state: ReplayState.FINISHED, total: 10, dispatched: 10, acknowledged: 0, waiting: 0 }

test.for<[word: string, tone: string, counts: Partial<ReplayCounts>]>([
  ['Acknowledged', 'delivered', { acknowledged: 10 }],
  ['Retries wait', 'waiting', { acknowledged: 4, waiting: 6 }],
  ['Partly acknowledged', 'warning', { acknowledged: 4 }],
  ['Not acknowledged', 'error', {}],
  ['Nothing to send', 'neutral', { dispatched: 0 }],
  ['Under way', 'waiting', { state: ReplayState.RUNNING }],
  ['Finishing', 'waiting', { state: ReplayState.RUNNING, acknowledged: 10 }],
  ['No endpoint', 'error', { state: ReplayState.FAILED }],
])('a replay is shown as what the endpoint made of its events: %s', ([word, tone, counts]) => {
  expect(stateOfReplay({ ...finished, ...counts })).toEqual({ word, tone })
})

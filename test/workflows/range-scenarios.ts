import type { WorkflowHandle } from '@temporalio/client'
import type { ReplayStep } from '../../server/webhooks/replays/range-replays.ts'
import type { ActivityParts } from '../../workflows/activities.ts'
import type { ReplayProgress, replayRange } from '../../workflows/replay-range.ts'
import { until } from './world.ts'

// The outcomes of replays of many events whose histories are stored, as scenarios.ts has those of deliveries.

export interface RangeScenario {
  /** The results of the steps, in order. The last one repeats. */
  steps: ReplayStep[]
  meanwhile?(handle: WorkflowHandle<typeof replayRange>): Promise<unknown>
}

const TOTAL = 300
const HOUR_MS = 3_600_000

const running = (dispatched: number, waitMs: number): ReplayStep => ({
  state: 'running',
  dispatched,
  total: TOTAL,
  waitMs,
})
const ended = (state: ReplayStep['state']): ReplayStep => ({ state, dispatched: TOTAL, total: TOTAL, waitMs: 0 })

const afterFirstStep = (act: (handle: WorkflowHandle<typeof replayRange>) => Promise<unknown>) => ({
  async meanwhile(handle: WorkflowHandle<typeof replayRange>) {
    await until(async () => (await handle.query<ReplayProgress | undefined>('progress')) !== undefined)
    await act(handle)
  },
})

export const RANGE_SCENARIOS: Record<string, RangeScenario> = {
  'a range': { steps: [running(100, 50), running(200, 0), ended('finished')] },
  'a range whose steps wait after the one before': {
    steps: [...Array.from({ length: 120 }, (_, n) => running(n, n === 0 ? 50 : 0)), ended('finished')],
  },
  'a range that fails': { steps: [ended('failed')] },
  'a range that is cancelled': {
    steps: [running(100, HOUR_MS)],
    ...afterFirstStep((handle) => handle.signal('cancel')),
  },
  'a range whose workflow is cancelled': {
    steps: [running(100, HOUR_MS)],
    ...afterFirstStep((handle) => handle.cancel()),
  },
  'a range continued as a new run': {
    steps: [...Array.from({ length: 120 }, (_, n) => running(n, 0)), ended('finished')],
  },
}

/** The activities of a scenario. */
export function replaysOf(scenario: () => RangeScenario): ActivityParts['replays'] & { begin(): void } {
  let made = 0
  let isCancelled = false
  return {
    begin() {
      made = 0
      isCancelled = false
    },
    async dispatchNext() {
      const { steps } = scenario()
      const step = steps[Math.min(made++, steps.length - 1)]!
      return isCancelled ? { ...step, state: 'cancelled', waitMs: 0 } : step
    },
    async cancel() {
      isCancelled = true
    },
  }
}

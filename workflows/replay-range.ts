import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow'
import type { Activities } from './activities.ts'
import { MINUTE_OPTIONS } from './activity-options.ts'
import { isLong } from './long-history.ts'
import { replayDetails } from './summaries.ts'

/** The input of a workflow. The fields are stored in histories and keep their names. */
interface ReplayRangeInput {
  /** `rpl_...` */
  replayId: string
}

export type ReplayProgress = Omit<Awaited<ReturnType<Activities['dispatchNext']>>, 'waitMs'>

/** Ends the replay. Events that it has dispatched are still attempted. */
const cancelRange = defineSignal('cancel')
export const progress = defineQuery<ReplayProgress | undefined>('progress')

/** Before the patch the wait began with the step, and a new run with the next step: a slow step made a burst. */
const WAIT_AFTER_STEP = 'wait-after-step'

const { dispatchNext, cancelReplay } = proxyActivities<Activities>(MINUTE_OPTIONS)

/**
 * Sends many events again, the oldest first, at a pace. Each step dispatches the events of about a second, and other
 * workflows attempt them (deliver-webhooks.ts). The replay's row in the database stores its progress. A run that
 * continues another, or replaces one that was lost, goes on there.
 */
export async function replayRange({ replayId }: ReplayRangeInput): Promise<ReplayProgress> {
  let last: ReplayProgress | undefined
  let isCancelled = false
  setHandler(progress, () => last)
  setHandler(cancelRange, () => {
    isCancelled = true
  })

  try {
    for (;;) {
      if (isCancelled) await cancelReplay({ replayId })
      const startedMs = Date.now()
      const { waitMs, ...step } = await dispatchNext({ replayId })
      last = step
      setCurrentDetails(replayDetails(step))
      if (step.state !== 'running') return step
      const isPatched = patched(WAIT_AFTER_STEP)
      if (!isPatched && isLong()) await continueAsNew<typeof replayRange>({ replayId })
      const restMs = isPatched ? waitMs : startedMs + waitMs - Date.now()
      if (restMs > 0) await condition(() => isCancelled, restMs)
      if (isPatched && isLong() && !isCancelled) await continueAsNew<typeof replayRange>({ replayId })
    }
  } catch (error) {
    // An operator cancelled the workflow itself, in Temporal's UI.
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => cancelReplay({ replayId }))
    throw error
  }
}

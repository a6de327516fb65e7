import { workflowInfo } from '@temporalio/workflow'

/** The number of history events after which a workflow continues as a new run. */
const LONG_HISTORY = 500

export function isLong(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo()
  return historyLength > LONG_HISTORY || continueAsNewSuggested
}

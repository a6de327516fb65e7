/** Dispatches of one account that one workflow walks through the retry schedule together. At most 50. */
export interface Group {
  workflowId: string
  kind: 'original' | 'replay'
  /** UUIDs, all three; the ids of dispatches and events go in pairs. */
  dispatchIds: string[]
  eventIds: string[]
  messageIds: string[]
  /** Places at the endpoint are counted by its account, which has this one alone. */
  accountId: string
  /** Host of the endpoint's URL, to find the workflow by. */
  endpointHost: string
  /** The number of the next attempt. */
  attempt: number
  /** When that attempt is due: the latest of the group. Unix milliseconds. */
  dueMs: number
  /** No attempt begins after it. Unix milliseconds. */
  deadlineMs: number
  /** How the attempts before that one ended, of those dispatches that have had one. */
  answers: { outcome: string; statusCode?: number }[]
}

/** The workflows of webhooks, as far as the server steers them. Every call throws when Temporal refuses, or does not answer in a few seconds. */
export interface Workflows {
  /** Done also when a workflow with this id is there already. */
  start(group: Group): Promise<void>
  /** Of many ids those whose workflow is closed or absent. */
  closed(workflowIds: string[]): Promise<string[]>
  /** Ends the attempts of these dispatches, or of all the workflow has. */
  cancel(workflowId: string, dispatchIds?: string[]): Promise<void>
}

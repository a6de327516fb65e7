import type { StoredOutcome } from '../post/post-outcomes.ts'

/** A dispatch of a group. Ids are UUIDs. */
export interface GroupedDispatch {
  id: string
  eventId: string
  messageId: string
  /** No attempt of it begins later. Unix milliseconds. */
  deadlineMs: number
  /** How its previous attempt ended; undefined when it had none. */
  previousResult?: { outcome: StoredOutcome; statusCode?: number; cause?: string }
}

/** Dispatches to one endpoint that one workflow walks through the retry schedule together. */
export interface Group {
  workflowId: string
  kind: 'original' | 'replay'
  dispatches: GroupedDispatch[]
  accountId: string
  endpointId: string
  /** The host of the endpoint's URL. Operators search for the workflow by it. */
  endpointHost: string
  /** The number of the next attempt. */
  attempt: number
  /** When that attempt is due: the latest time of the group. Unix milliseconds. */
  dueMs: number
  /** The trace that the workflow continues: that of all its dispatches, if they have the same one. */
  traceparent?: string
}

/** A replay of many events, for which a workflow is started. Ids are UUIDs. */
export interface RangeReplay {
  id: string
  accountId: string
  /** The only endpoint that it sends to; undefined when several may receive its events. */
  endpointId?: string
  /** The number of its events. */
  total: number
}

/**
 * The workflows of webhooks, as the server starts and cancels them. Every call throws when Temporal refuses, or does
 * not respond within a few seconds.
 */
export interface Workflows {
  /** The most dispatches of one workflow. */
  maxGroup: number
  /** Succeeds also when a workflow with this id exists already. */
  start(group: Group): Promise<void>
  /** Returns the ids whose workflow is closed or absent. */
  closed(workflowIds: string[]): Promise<string[]>
  /**
   * Returns the ids of the workflows of webhooks that a person terminated since then, or that timed out. Some of them
   * may run again.
   */
  terminatedSince(ms: number): Promise<string[]>
  /** Ends the attempts of these dispatches, or of all dispatches of the workflow. */
  cancel(workflowId: string, dispatchIds?: string[]): Promise<void>
  /** Makes the next attempt of this dispatch (UUID) now. Throws also when the workflow is closed or absent. */
  retryNow(workflowId: string, dispatchId: string): Promise<void>
  /** Starts the workflow of a replay. Succeeds also when it runs. */
  startReplay(replay: RangeReplay, traceparent?: string): Promise<void>
}

/** Where a workflow is in the Temporal UI. */
export interface WorkflowLink {
  /** undefined when no address of the UI is configured, and when Temporal no longer has the workflow. */
  url?: string
  /** Until when Temporal keeps it, Unix milliseconds; undefined while it runs, and when Temporal does not say. */
  keptUntilMs?: number
}

/** `endedMs` is when it ended, Unix milliseconds; undefined while it runs. */
export type LinkWorkflow = (workflowId: string, endedMs?: number) => Promise<WorkflowLink>

/** A list of workflows in the Temporal UI. */
export interface DeliveryView {
  title: string
  url: string
}

/** Which deliveries a view shows. UUIDs. */
export interface ViewedDeliveries {
  accountId: string
  /** undefined: those to all endpoints. */
  endpointId?: string
}

// How much a worker does at a time.

/** The longest time of one POST, with its wait for a slot. It follows from the limits of a POST. */
export const POST_MS = 12_000
/**
 * The longest time of one workflow task on a worker. A task takes milliseconds; the rest is for a busy machine (ADR
 * 52).
 */
export const WORKFLOW_TASK_MS = 30_000
/**
 * Dispatches of one workflow. The ids of more events would not fit into a search attribute of Temporal, 2,048 octets.
 */
export const MAX_GROUP = 50

/** Activities in progress, per task queue. */
export const ACTIVITY_SLOTS = 200
/**
 * How many groups of one account may attempt at a time, of these slots. With the groups that wait for their endpoint,
 * an account holds at most half of the slots.
 */
export const GROUPS_PER_ACCOUNT = ACTIVITY_SLOTS * 0.4
/** How many of the account's slots the groups of one endpoint may take. As many groups of the account may wait. */
export const GROUPS_PER_ENDPOINT = ACTIVITY_SLOTS / 10
/** POSTs in flight to one endpoint. */
export const POSTS_PER_ENDPOINT = 20
/** How long a group waits for a slot before it comes back as busy. */
export const SLOT_WAIT_MS = 1_000

/** The longest time of the last group's attempt: the groups of both task queues share the POSTs in flight. */
export const LONGEST_ATTEMPT_MS = ((2 * GROUPS_PER_ENDPOINT * MAX_GROUP) / POSTS_PER_ENDPOINT) * POST_MS

// How much a worker does at a time.

/** The longest that one POST may take, with its wait for a place, by the limits of a POST. */
export const POST_MS = 12_000
/** The longest that one workflow task may take on a worker. It takes milliseconds; the rest is for a busy machine (ADR 52). */
export const WORKFLOW_TASK_MS = 30_000
/** Dispatches of one workflow: a search attribute holds the ids of so many events. */
export const MAX_GROUP = 50

/** Activities in progress, per task queue. */
export const ACTIVITY_SLOTS = 200
/** Of these for the groups of one endpoint: a tenth. */
export const GROUPS_PER_ENDPOINT = ACTIVITY_SLOTS / 10
/** POSTs in flight to one endpoint. */
export const POSTS_PER_ENDPOINT = 20
/** How long a group waits for a place before it comes back as busy. */
export const PLACE_WAIT_MS = 1_000

/** The groups of both task queues share the POSTs in flight: this long the last of them may take. */
export const LONGEST_ATTEMPT_MS = ((2 * GROUPS_PER_ENDPOINT * MAX_GROUP) / POSTS_PER_ENDPOINT) * POST_MS

import type { AttemptRow, DispatchRow, EndpointEntry, Logs, PostEntry, WebhookLogs, WebhookRows } from './logs.ts'

export type WebhookBook = ReturnType<typeof openWebhookBook>

/** A POST with the values of its `Service-...` headers. */
export interface Post extends PostEntry {
  event: string
  dispatch: string
  attempt: number
  timestampMs: number
}

/** How long an attempt may take from reading its endpoint's row to the arrival at the receiver. */
export const IN_FLIGHT_MS = 2_000

const NOTHING: WebhookRows = { nowMs: 0, events: [], dispatches: [], attempts: [] }

/** The logs of webhooks with indexes for the checks. The last snapshot counts as stored. */
export function openWebhookBook(logs: Logs, webhooks: WebhookLogs) {
  const lastRows = logs.database.at(-1)?.webhooks ?? NOTHING
  const posts = webhooks.posts.map(readPost)
  const dispatches = new Map(lastRows.dispatches.map((row) => [row.id, row]))
  const postsOf = Map.groupBy(posts, (post) => post.dispatch)
  const attemptsOf = Map.groupBy(lastRows.attempts, (row) => row.dispatch)
  const endpointsOf = Map.groupBy(webhooks.endpoints, (entry) => entry.account)

  /** The endpoints that an account may have had at a moment. There is more than one while a change is in progress. */
  function endpointsAt(account: string, atMs: number, slackMs = 0): EndpointEntry[] {
    const entries = endpointsOf.get(account) ?? []
    const endMs = (i: number) => (entries[i + 1]?.respondedMs ?? Number.POSITIVE_INFINITY) + slackMs
    return entries.filter(({ sentMs }, i) => sentMs <= atMs && atMs <= endMs(i))
  }

  /** Whether the account may have had no endpoint at that moment. */
  function mayLackEndpoint(account: string, atMs: number): boolean {
    const entries = endpointsAt(account, atMs)
    return entries.some(({ url }) => url === undefined) || !entries.some(({ respondedMs }) => respondedMs <= atMs)
  }

  return {
    logs,
    webhooks,
    lastRows,
    posts,
    endpointsAt,
    mayLackEndpoint,
    dispatch: (id: string): DispatchRow | undefined => dispatches.get(id),
    postsOf: (dispatch: string): Post[] => postsOf.get(dispatch) ?? [],
    attemptsOf: (dispatch: string): AttemptRow[] => attemptsOf.get(dispatch) ?? [],
  }
}

function readPost(entry: PostEntry): Post {
  const { headers } = entry
  return {
    ...entry,
    event: headers['service-event-id'] ?? '',
    dispatch: headers['service-dispatch-id'] ?? '',
    attempt: Number(headers['service-attempt']),
    timestampMs: Number(headers['service-timestamp']) * 1_000,
  }
}

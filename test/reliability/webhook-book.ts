import type {
  AttemptRow,
  DispatchRow,
  EndpointEntry,
  Logs,
  PostEntry,
  WebhookEventRow,
  WebhookLogs,
  WebhookRows,
} from './logs.ts'

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
/**
 * How long after `now()`, which is the time of an event, its statement may take its snapshot of the tables: a new
 * connection parses the statement first.
 */
const SNAPSHOT_MS = 1_000

const NOTHING: WebhookRows = { nowMs: 0, events: [], dispatches: [], attempts: [] }

/** The logs of webhooks with indexes for the checks. The last snapshot counts as stored. */
export function openWebhookBook(logs: Logs, webhooks: WebhookLogs) {
  const lastRows = logs.database.at(-1)?.webhooks ?? NOTHING
  const posts = webhooks.posts.map(readPost)
  const dispatches = new Map(lastRows.dispatches.map((row) => [row.id, row]))
  const postsOf = Map.groupBy(posts, (post) => post.dispatch)
  const attemptsOf = Map.groupBy(lastRows.attempts, (row) => row.dispatch)
  const endpointsOf = Map.groupBy(webhooks.endpoints, (entry) => entry.account)

  /** The endpoints that an account may have had in a span. There is more than one while a change is in progress. */
  function endpointsIn(account: string, fromMs: number, toMs: number): EndpointEntry[] {
    const entries = endpointsOf.get(account) ?? []
    const endMs = (i: number) => entries[i + 1]?.respondedMs ?? Number.POSITIVE_INFINITY
    return entries.filter(({ sentMs }, i) => sentMs <= toMs && fromMs <= endMs(i))
  }

  /** The endpoints that an attempt may have read whose POST arrived at that moment. */
  const endpointsReadBefore = (account: string, arrivedMs: number) =>
    endpointsIn(account, arrivedMs - IN_FLIGHT_MS, arrivedMs)

  /** The endpoints that the statement which stored an event may have seen. */
  const endpointsSeenBy = ({ account, createdMs }: WebhookEventRow) =>
    endpointsIn(account, createdMs, createdMs + SNAPSHOT_MS)

  /** Whether the statement which stored an event may have seen no endpoint. */
  function mayLackEndpoint(event: WebhookEventRow): boolean {
    const entries = endpointsSeenBy(event)
    return (
      entries.some(({ url }) => url === undefined) || !entries.some(({ respondedMs }) => respondedMs <= event.createdMs)
    )
  }

  return {
    logs,
    webhooks,
    lastRows,
    posts,
    endpointsReadBefore,
    endpointsSeenBy,
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

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
  const changesOf = Map.groupBy(webhooks.endpoints, (entry) => entry.endpoint)

  /** The states that an endpoint may have had in a span. There is more than one while a change is in progress. */
  function statesIn(endpoint: string, fromMs: number, toMs: number): EndpointEntry[] {
    const entries = changesOf.get(endpoint) ?? []
    const endMs = (i: number) => entries[i + 1]?.respondedMs ?? Number.POSITIVE_INFINITY
    return entries.filter(({ sentMs }, i) => sentMs <= toMs && fromMs <= endMs(i))
  }

  /** The states of an endpoint that an attempt may have read whose POST arrived at that moment. */
  const statesReadBefore = (endpoint: string, arrivedMs: number) =>
    statesIn(endpoint, arrivedMs - IN_FLIGHT_MS, arrivedMs)

  /** The states of an endpoint that the statement which stored an event may have seen. */
  const statesSeenBy = ({ createdMs }: WebhookEventRow, endpoint: string) =>
    statesIn(endpoint, createdMs, createdMs + SNAPSHOT_MS)

  /** Whether this endpoint may have asked for an event when it was stored. */
  const mayAsk = (event: WebhookEventRow, endpoint: string): boolean =>
    statesSeenBy(event, endpoint).some((state) => asks(state, event))

  /** Whether this endpoint must have asked for an event when it was stored. */
  function mustAsk(event: WebhookEventRow, endpoint: string): boolean {
    const states = statesSeenBy(event, endpoint)
    return (
      states.every((state) => asks(state, event)) && states.some(({ respondedMs }) => respondedMs <= event.createdMs)
    )
  }

  /** All endpoints that an account has ever had. */
  const endpointsOf = (account: string): string[] =>
    [...changesOf].flatMap(([endpoint, [first]]) => (first!.account === account ? endpoint : []))

  return {
    logs,
    webhooks,
    lastRows,
    inFlightMs: IN_FLIGHT_MS + (webhooks.stoppedMs ?? 0),
    posts,
    statesReadBefore,
    mayAsk,
    mustAsk,
    endpointsOf,
    dispatch: (id: string): DispatchRow | undefined => dispatches.get(id),
    postsOf: (dispatch: string): Post[] => postsOf.get(dispatch) ?? [],
    attemptsOf: (dispatch: string): AttemptRow[] => attemptsOf.get(dispatch) ?? [],
  }
}

const asks = ({ url, disabled, statuses }: EndpointEntry, { status }: WebhookEventRow): boolean =>
  url !== undefined && !disabled && (statuses?.includes(status) ?? true)

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

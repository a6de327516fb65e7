import type { AttemptRow, DispatchRow, EndpointEntry, Logs, PostEntry, WebhookLogs, WebhookRows } from './logs.ts'

export type WebhookBook = ReturnType<typeof openWebhookBook>

/** A POST with what its headers say. */
export interface Post extends PostEntry {
  /** Of the Service headers. */
  event: string
  dispatch: string
  attempt: number
  timestampMs: number
}

/** How long an attempt may be on its way from the row of its endpoint to the receiver. */
export const ON_ITS_WAY_MS = 2_000

const NOTHING: WebhookRows = { nowMs: 0, events: [], dispatches: [], attempts: [] }

/** The logs of webhooks with what each check has to look up. The last snapshot is what counts as stored. */
export function openWebhookBook(logs: Logs, webhooks: WebhookLogs) {
  const stored = logs.database.at(-1)?.webhooks ?? NOTHING
  const posts = webhooks.posts.map(readPost)
  const dispatches = new Map(stored.dispatches.map((row) => [row.id, row]))
  const postsOf = Map.groupBy(posts, (post) => post.dispatch)
  const attemptsOf = Map.groupBy(stored.attempts, (row) => row.dispatch)
  const endpointsOf = Map.groupBy(webhooks.endpoints, (entry) => entry.account)

  /** What the endpoint of an account may have been at a moment: more than one while it was being changed. */
  function endpointsAt(account: string, atMs: number, slackMs = 0): EndpointEntry[] {
    const entries = endpointsOf.get(account) ?? []
    const overMs = (i: number) => (entries[i + 1]?.answeredMs ?? Number.POSITIVE_INFINITY) + slackMs
    return entries.filter(({ sentMs }, i) => sentMs <= atMs && atMs <= overMs(i))
  }

  /** Whether the account may have had no endpoint at that moment. */
  function mayLackEndpoint(account: string, atMs: number): boolean {
    const entries = endpointsAt(account, atMs)
    return entries.some(({ url }) => url === undefined) || !entries.some(({ answeredMs }) => answeredMs <= atMs)
  }

  return {
    logs,
    webhooks,
    stored,
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

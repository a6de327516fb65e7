import type { ReplayEntry } from './logs.ts'
import type { Finding } from './statements.ts'
import type { WebhookBook } from './webhook-book.ts'

interface AcceptedReplay {
  event_id: string
  dispatch_id: string
}

/** An event of the response, with its dispatch to each endpoint. */
type ReplayedEvent = AcceptedReplay & { dispatches?: Pick<AcceptedReplay, 'dispatch_id'>[] }

function acceptedReplaysIn({ status, body }: ReplayEntry): AcceptedReplay[] {
  if (status !== 200) return []
  const { events = [body as ReplayedEvent] } = body as { events?: ReplayedEvent[] }
  return events.flatMap(({ event_id, dispatch_id, dispatches = [{ dispatch_id }] }) =>
    dispatches.map(({ dispatch_id }) => ({ event_id, dispatch_id })),
  )
}

/** Statement 14: an accepted replay is stored, and a refused one is not. */
export function* replaysAreKept({ lastRows, webhooks, dispatch }: WebhookBook): Iterable<Finding> {
  const acceptedReplays = webhooks.replays.flatMap(acceptedReplaysIn)
  for (const accepted of acceptedReplays) {
    const row = dispatch(accepted.dispatch_id)
    if (row?.kind !== 'replay' || row.event !== accepted.event_id) yield ['a replay that was lost', { accepted, row }]
  }
  const acceptedIds = new Set(acceptedReplays.map(({ dispatch_id }) => dispatch_id))
  const otherReplays = lastRows.dispatches.filter(({ id, kind }) => kind === 'replay' && !acceptedIds.has(id))
  for (const row of otherReplays) {
    const candidates = webhooks.replays.filter(
      (entry) => isUnknown(entry) && [row.event, row.message].includes(entry.of),
    )
    const others = otherReplays.filter(({ event, endpoint }) => event === row.event && endpoint === row.endpoint)
    if (candidates.length < others.length)
      yield ['a replay without a request, or of a refused request', { row, candidates }]
  }
}

/** Whether the caller did not learn if the replay was accepted. */
function isUnknown({ status, body }: ReplayEntry): boolean {
  return status === undefined || (status === 500 && /not known/.test((body as { message: string }).message))
}

/** Statement 14: a replay sends no mail. */
export function* replaysMailNothing({ logs, webhooks, dispatch }: WebhookBook): Iterable<Finding> {
  for (const entry of webhooks.replays) {
    const messages = [entry.of, ...acceptedReplaysIn(entry).map(({ dispatch_id }) => dispatch(dispatch_id)?.message)]
    const dots = logs.mail.dots.filter(({ message, atMs }) => messages.includes(message) && atMs > entry.sentAtMs)
    if (dots.length > 0) yield ['a replay that sent mail', { entry, dots }]
  }
}

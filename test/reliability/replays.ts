import type { ReplayEntry } from './logs.ts'
import type { Finding } from './statements.ts'
import type { WebhookBook } from './webhook-book.ts'

interface Accepted {
  event_id: string
  dispatch_id: string
}

function acceptedIn({ status, body }: ReplayEntry): Accepted[] {
  if (status !== 200) return []
  const { events = [body as Accepted] } = body as { events?: Accepted[] }
  return events
}

/** Statement 14: what was accepted is there, and what was refused is not. */
export function* replaysAreKept({ stored, webhooks, dispatch }: WebhookBook): Iterable<Finding> {
  const promised = webhooks.replays.flatMap(acceptedIn)
  for (const accepted of promised) {
    const row = dispatch(accepted.dispatch_id)
    if (row?.kind !== 'replay' || row.event !== accepted.event_id) yield ['a replay that was lost', { accepted, row }]
  }
  const known = new Set(promised.map(({ dispatch_id }) => dispatch_id))
  const untold = stored.dispatches.filter(({ id, kind }) => kind === 'replay' && !known.has(id))
  for (const row of untold) {
    const mayBe = webhooks.replays.filter((entry) => isUnknown(entry) && [row.event, row.message].includes(entry.of))
    const others = untold.filter(({ event }) => event === row.event)
    if (mayBe.length < others.length) yield ['a replay that nobody asked for, or that was refused', { row, mayBe }]
  }
}

/** Its caller was not told whether it was accepted. */
function isUnknown({ status, body }: ReplayEntry): boolean {
  return status === undefined || (status === 500 && /not known/.test((body as { message: string }).message))
}

/** Statement 14. */
export function* replaysMailNothing({ logs, webhooks, dispatch }: WebhookBook): Iterable<Finding> {
  for (const entry of webhooks.replays) {
    const messages = [entry.of, ...acceptedIn(entry).map(({ dispatch_id }) => dispatch(dispatch_id)?.message)]
    const dots = logs.mail.dots.filter(({ message, atMs }) => messages.includes(message) && atMs > entry.sentAtMs)
    if (dots.length > 0) yield ['a replay that mailed', { entry, dots }]
  }
}

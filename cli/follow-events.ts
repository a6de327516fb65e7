import { setTimeout } from 'node:timers/promises'
import { Failure, type Output } from './command.ts'
import { type StoredEvent, statusOf } from './event-text.ts'
import { callPatiently, query } from './service.ts'

/** How often the service is asked for new events. */
const POLL_MS = 2_000
/** An event is listed when it is committed, at most this long after its timestamp. So each poll looks back as far. */
const OVERLAP_MS = 20_000

interface FollowOptions {
  url: string | undefined
  pollMs?: number
}

/** Yields each event that is stored after the start, once. Keeps asking while the service cannot be reached. */
export async function* followEvents(
  filters: Record<string, string | undefined>,
  { url, pollMs = POLL_MS }: FollowOptions,
): AsyncGenerator<Output> {
  const listPage = async (more: Record<string, string>): Promise<Page> => {
    const path = `/api/v1/events${query({ ...filters, ...more })}`
    return (await callPatiently({ url, path })) as unknown as Page
  }
  let newest = (await listPage({ limit: '1' })).events[0]
  let seen = new Set<string>()

  /** Returns the events that were not there before, oldest first. */
  async function newEvents(): Promise<StoredEvent[]> {
    const from = newest && new Date(Date.parse(newest.timestamp) - OVERLAP_MS).toISOString()
    const events: StoredEvent[] = []
    let page: Page | undefined
    do {
      page = await listPage({ limit: '100', ...(from && { from }), ...(page && { cursor: page.next_cursor! }) })
      events.push(...page.events)
    } while (page.has_more)
    const unseen = events.filter(({ event_id }) => !seen.has(event_id))
    newest = events[0] ?? newest
    seen = new Set(events.map(({ event_id }) => event_id))
    return unseen.reverse()
  }

  await newEvents()
  for (;;) {
    await setTimeout(pollMs)
    for (const event of await newEvents().catch(reportOutage)) yield { json: event, text: lineOf(event) }
  }
}

interface Page {
  events: StoredEvent[]
  has_more: boolean
  next_cursor?: string
}

function reportOutage(error: unknown): never[] {
  if (!(error instanceof Failure && error.exit === 'unavailable')) throw error
  console.error(error.message)
  return []
}

/** Columns of one width for all events: a table would have to know the later ones. */
function lineOf(event: StoredEvent): string {
  const { timestamp, reason = '-', recipient, message_id, event_id } = event
  return [timestamp, statusOf(event).padEnd(22), reason.padEnd(22), message_id, event_id, recipient].join('  ')
}

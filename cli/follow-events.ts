import { setTimeout } from 'node:timers/promises'
import { CliError, type Output } from './command.ts'
import { type PrintedEvent, statusOf } from './event-text.ts'
import { callPatiently, query } from './service.ts'

/** How long a call waits for an event. */
const WAIT_S = 20
const RETRY_MS = 2_000

interface FollowOptions {
  url: string | undefined
  /** A position of an event, or `begin`. */
  after?: string
}

/** Yields each event that is committed after the start, once. Keeps asking while the service cannot be reached. */
export async function* followEvents(
  filters: Record<string, string | undefined>,
  { url, after }: FollowOptions,
): AsyncGenerator<Output> {
  const read = async (more: Record<string, string | undefined>): Promise<Changes> => {
    const path = `/api/v1/events/changes${query({ ...filters, limit: '100', ...more })}`
    return (await callPatiently({ url, path })) as unknown as Changes
  }
  let { events, position } = await read({ after })
  for (;;) {
    for (const { event, position } of events) yield { json: { ...event, position }, text: lineOf(event) }
    ;({ events, position } = await read({ after: position, wait_s: String(WAIT_S) }).catch(async (error) => {
      reportOutage(error)
      await setTimeout(RETRY_MS)
      return { events: [], position }
    }))
  }
}

interface Changes {
  events: { event: PrintedEvent; position: string }[]
  position: string
}

function reportOutage(error: unknown): void {
  if (!(error instanceof CliError && error.exit === 'unavailable')) throw error
  console.error(error.message)
}

/** Columns of one width for all events: a table would have to know the later ones. */
function lineOf(event: PrintedEvent): string {
  const { timestamp, reason = '-', recipient, message_id, event_id } = event
  return [timestamp, statusOf(event).padEnd(22), reason.padEnd(22), message_id, event_id, recipient].join('  ')
}

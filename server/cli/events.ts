import { type Answer, command, Failure } from './command.ts'
import { callApi, urlOption } from './service.ts'
import { table } from './table.ts'

// What the service answers, as far as it is printed for people.

interface StoredEvent {
  event_id: string
  message_id: string
  status: string
  reason?: string
  recipient: string
  timestamp: string
  attempts: number
  acknowledged_at?: string
}

interface Dispatch {
  dispatch_id: string
  kind: string
  state: string
  workflow_url?: string
  next_attempt_at?: string
  attempts: Attempt[]
}

interface Attempt {
  number: number
  started_at: string
  outcome: string
  status_code?: number
  duration_ms?: number
  response_excerpt?: string
}

export const events = command({
  summary: 'List delivery events, newest first; or show one, with every attempt to push it.',
  words: ['event_id?'],
  options: {
    message: { type: 'string', value: 'message_id', help: 'events of this message' },
    status: { type: 'string', value: 'status', help: 'delivered, bounced or rejected' },
    reason: { type: 'string', value: 'reason', help: 'such as mailbox_full' },
    recipient: { type: 'string', value: 'address', help: 'events of this recipient' },
    limit: { type: 'string', value: 'number', help: 'how many at the most, 1 to 100; 50 when left out' },
    cursor: { type: 'string', value: 'cursor', help: 'the next_cursor of the page before' },
    url: urlOption,
  },
  examples: [
    'verdict events --status bounced',
    'verdict events --message msg_01jv3k8m5nfq0s2x7w9y4z6t1c --json',
    'verdict events evt_01jv3k8m7cfe5r1v8a0b3d6g9h',
  ],
  async run({ message, status, reason, recipient, limit, cursor, url }, [eventId]) {
    const filters = Object.entries({ message_id: message, status, reason, recipient, limit, cursor })
    const given = filters.filter((filter): filter is [string, string] => filter[1] !== undefined)
    if (eventId === undefined) return listEvents(given, url)
    if (given.length > 0) throw new Failure('usage', 'One event takes no filters.')
    const event = await callApi({ url, path: `/api/v1/events/${encodeURIComponent(eventId)}` })
    return { json: event, text: describe(event as unknown as StoredEvent & { dispatches: Dispatch[] }) }
  },
})

async function listEvents(filters: [string, string][], url: string | undefined): Promise<Answer> {
  const page = await callApi({ url, path: `/api/v1/events?${new URLSearchParams(filters)}` })
  const rows = (page.events as StoredEvent[]).map((event) => {
    const { timestamp, status, reason = '-', recipient, message_id, event_id } = event
    return [timestamp, status, reason, recipient, pushed(event), message_id, event_id]
  })
  const heading = ['TIME', 'STATUS', 'REASON', 'RECIPIENT', 'PUSHED', 'MESSAGE', 'EVENT']
  const found = table(heading, rows, 'No such event.')
  return { json: page, text: page.has_more ? `${found}\n\nMore: --cursor ${page.next_cursor}` : found }
}

function pushed({ attempts, acknowledged_at }: StoredEvent): string {
  return acknowledged_at ? `yes, ${attempts}` : attempts > 0 ? `no, ${attempts}` : '-'
}

function describe(event: StoredEvent & { dispatches: Dispatch[] }): string {
  const { event_id, status, reason, recipient, timestamp, message_id, dispatches } = event
  const head = `${event_id}: ${recipient} ${status}${reason ? `, ${reason}` : ''}\n  ${timestamp}, of ${message_id}`
  return [head, ...dispatches.map(describeDispatch)].join('\n')
}

function describeDispatch({ dispatch_id, kind, state, workflow_url, next_attempt_at, attempts }: Dispatch): string {
  const next = next_attempt_at ? `, next attempt at ${next_attempt_at}` : ''
  return [
    `  ${dispatch_id} (${kind}): ${state}${next}`,
    ...attempts.map((attempt) => `    ${describeAttempt(attempt)}`),
    ...(workflow_url ? [`    ${workflow_url}`] : []),
  ].join('\n')
}

function describeAttempt({ number, started_at, outcome, status_code, duration_ms, response_excerpt }: Attempt): string {
  const status = status_code === undefined ? '' : ` (HTTP ${status_code})`
  const took = duration_ms === undefined ? '' : `, ${duration_ms} ms`
  const said = response_excerpt ? `: ${JSON.stringify(response_excerpt.slice(0, 80))}` : ''
  return `attempt ${number} at ${started_at}: ${outcome}${status}${took}${said}`
}

interface Replayed {
  event_id: string
  dispatch_id: string
  dispatched_at: string
}

export const replay = command({
  summary: 'Push an event, or all events of a message, to the webhook endpoint again. No email is sent.',
  words: ['id'],
  options: { url: urlOption },
  examples: ['verdict replay evt_01jv3k8m7cfe5r1v8a0b3d6g9h', 'verdict replay msg_01jv3k8m5nfq0s2x7w9y4z6t1c --json'],
  async run({ url }, [id]) {
    const kind = id!.startsWith('evt_') ? 'events' : id!.startsWith('msg_') ? 'messages' : undefined
    if (!kind) throw new Failure('usage', `${id} is neither an event (evt_...) nor a message (msg_...).`)
    const path = `/api/v1/${kind}/${encodeURIComponent(id!)}/replay`
    const answer = await callApi({ url, path, method: 'POST' })
    const replayed = (kind === 'events' ? [answer] : answer.events) as Replayed[]
    const lines = replayed.map(
      ({ event_id, dispatch_id, dispatched_at }) => `${event_id}: ${dispatch_id}, accepted at ${dispatched_at}`,
    )
    return { json: answer, text: lines.join('\n') }
  },
})

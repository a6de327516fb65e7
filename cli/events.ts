import { Option } from '@commander-js/extra-typings'
import { EVENT_KINDS } from '../server/db/event-kinds.ts'
import { FEEDBACK_KINDS, REASON_CHOICES, STATUSES } from './choices.ts'
import { CliError, command, type Output, type Print } from './command.ts'
import { type PrintedEvent, statusOf } from './event-text.ts'
import { followEvents } from './follow-events.ts'
import { callApi, query, urlOption } from './service.ts'
import { pageText, table } from './table.ts'

// The fields of the service's responses that are printed as text.

interface Dispatch {
  dispatch_id: string
  endpoint_id: string
  kind: string
  state: string
  workflow_url?: string
  next_attempt_at?: string
  attempts: PrintedAttempt[]
}

interface PrintedAttempt {
  number: number
  started_at: string
  outcome: string
  status_code?: number
  duration_ms?: number
  response_excerpt?: string
  detail?: string
  request?: { url?: string; headers: Record<string, string>; body: string }
}

export const eventsCommand = (print: Print) =>
  command(
    'events',
    'verdict events --status bounced',
    'verdict events --follow --feedback complaint',
    'verdict events --message msg_01jv3k8m5nfq0s2x7w9y4z6t1c --json',
    'verdict events evt_01jv3k8m7cfe5r1v8a0b3d6g9h --requests',
  )
    .summary('List or follow events, or show one')
    .description('List events, newest first; or show one event with every attempt to send it to the webhook.')
    .argument('[event_id]')
    .option('--message <message_id>', 'Only events of this message')
    .addOption(new Option('--status <status>', 'Only events with this status').choices(STATUSES))
    .addOption(new Option('--reason <reason>', 'Only events with this reason').choices(REASON_CHOICES))
    .option('--recipient <address>', 'Only events of this recipient')
    .option('--tag <tag>', 'Only events of emails with this tag')
    .option('--tenant <tenant_id>', 'Only events of emails of this tenant')
    .addOption(new Option('--sandbox', 'Only events of dry runs').conflicts('live'))
    .option('--live', 'No events of dry runs')
    .option('--from <time>', 'Only from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--to <time>', 'Only before this time')
    .addOption(new Option('--event <kind>', 'Only events of this kind').choices(EVENT_KINDS))
    .addOption(new Option('--feedback <kind>', 'Only late bounces, or only complaints').choices(FEEDBACK_KINDS))
    .option(
      '--follow',
      'Print new events of real sends as they come, until you press Ctrl+C; with --json one line each',
    )
    .option('--after <position>', 'With --follow: start after this position, or with the oldest event when it is begin')
    .option('--requests', 'Show what each attempt of the event posted')
    .option('--limit <number>', 'How many events to list, from 1 to 100; by default 50')
    .option('--cursor <cursor>', 'The next_cursor of the previous page')
    .addOption(urlOption())
    .action(async (eventId, { message: message_id, tenant: tenant_id, url, follow, after, requests, ...options }) => {
      const { sandbox: onlyDryRuns, live, ...others } = options
      const sandbox = onlyDryRuns ? 'true' : live ? 'false' : undefined
      const filters = { message_id, tenant_id, sandbox, ...others }
      const { from, to, limit, cursor } = options
      if (follow && (eventId ?? from ?? to ?? limit ?? cursor) !== undefined) {
        throw new CliError('usage', '--follow cannot be combined with an event_id, --from, --to, --limit or --cursor.')
      }
      if (after !== undefined && !follow) throw new CliError('usage', '--after needs --follow.')
      if (follow) {
        return print({
          json: {},
          text: 'Following events. Press Ctrl+C to stop.',
          rest: followEvents(filters, { url, after }),
        })
      }
      if (requests && eventId === undefined) throw new CliError('usage', '--requests needs an event_id.')
      if (eventId === undefined) return print(await listEvents(query(filters), url))
      if (query(filters)) throw new CliError('usage', 'Filters cannot be combined with an event_id.')
      const event = await callApi({ url, path: `/api/v1/events/${encodeURIComponent(eventId)}` })
      const text = eventText(event as unknown as PrintedEvent & { dispatches: Dispatch[] }, requests)
      print({ json: event, text })
    })

async function listEvents(filters: string, url: string | undefined): Promise<Output> {
  const page = await callApi({ url, path: `/api/v1/events${filters}` })
  const heading = ['TIME', 'STATUS', 'REASON', 'RECIPIENT', 'ACKNOWLEDGED', 'MESSAGE', 'EVENT']
  const rows = (page.events as PrintedEvent[]).map((event) => {
    const { timestamp, reason = '-', recipient, message_id, event_id } = event
    return [timestamp, statusOf(event), reason, recipient, acknowledgement(event), message_id, event_id]
  })
  const list = table(heading, rows, 'No event matches.')
  return { json: page, text: pageText(list, page) }
}

/** Whether the event is acknowledged, and after how many attempts. */
function acknowledgement({ attempts, acknowledged_at }: PrintedEvent): string {
  return acknowledged_at ? `yes, ${attempts}` : attempts > 0 ? `no, ${attempts}` : '-'
}

function eventText(event: PrintedEvent & { dispatches: Dispatch[] }, showsRequests = false): string {
  const { event_id, reason, recipient, timestamp, message_id, tag, smtp, detail, dispatches } = event
  const reply = smtp?.reply && `  ${smtp.mx ?? 'the server'} replied ${smtp.code ?? ''} ${smtp.reply}`
  const lines = [
    `${event_id}: ${recipient} ${statusOf(event)}${reason ? `, ${reason}` : ''}`,
    `  ${timestamp}, message ${message_id}${tag ? `, tag ${tag}` : ''}`,
    reply,
    detail && `  the report says ${detail}`,
  ]
  return [...lines.filter(Boolean), ...dispatches.map((each) => describeDispatch(each, showsRequests))].join('\n')
}

function describeDispatch(dispatch: Dispatch, showsRequests: boolean): string {
  const { dispatch_id, endpoint_id, kind, state, workflow_url, next_attempt_at, attempts } = dispatch
  const next = next_attempt_at ? `, next attempt at ${next_attempt_at}` : ''
  return [
    `  ${dispatch_id} (${kind}, to ${endpoint_id}): ${state}${next}`,
    ...attempts.flatMap((attempt) => [
      `    ${describeAttempt(attempt)}`,
      ...(attempt.detail ? [`      ${attempt.detail}`] : []),
      ...(showsRequests ? requestLines(attempt).map((line) => `      ${line}`) : []),
    ]),
    ...(workflow_url ? [`    ${workflow_url}`] : []),
  ].join('\n')
}

/** The request of an attempt, as it is written in HTTP. */
function requestLines({ request }: PrintedAttempt): string[] {
  if (!request) return ['The request is not known.']
  const { url = '(the key lacks the scope webhooks.read)', headers, body } = request
  return [`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body]
}

function describeAttempt({
  number,
  started_at,
  outcome,
  status_code,
  duration_ms,
  response_excerpt,
}: PrintedAttempt): string {
  const status = status_code === undefined ? '' : ` (HTTP ${status_code})`
  const duration = duration_ms === undefined ? '' : `, ${duration_ms} ms`
  const excerpt = response_excerpt ? `: ${JSON.stringify(response_excerpt.slice(0, 80))}` : ''
  return `attempt ${number} at ${started_at}: ${outcome}${status}${duration}${excerpt}`
}

interface PrintedReplay {
  event_id: string
  dispatches: { dispatch_id: string; endpoint_id: string }[]
  dispatched_at: string
}

export const replayCommand = (print: Print) =>
  command(
    'replay',
    'verdict replay evt_01jv3k8m7cfe5r1v8a0b3d6g9h',
    'verdict replay msg_01jv3k8m5nfq0s2x7w9y4z6t1c --json',
  )
    .summary('Send events to the webhook endpoints again')
    .description('Send an event, or all events of a message, to the webhook endpoints again. No email is sent.')
    .argument('<id>', 'an event_id or a message_id')
    .option('--endpoint <endpoint_id>', 'Send to this endpoint alone, whatever it asks for')
    .addOption(urlOption())
    .action(async (id, { url, endpoint }) => {
      const kind = id.startsWith('evt_') ? 'events' : id.startsWith('msg_') ? 'messages' : undefined
      if (!kind) throw new CliError('usage', `${id} is neither an event (evt_...) nor a message (msg_...).`)
      const path = `/api/v1/${kind}/${encodeURIComponent(id)}/replay`
      const body = { endpoint_id: endpoint }
      const response = await callApi({ url, path, method: 'POST', body })
      const replays = (kind === 'events' ? [response] : response.events) as PrintedReplay[]
      const lines = replays.flatMap(({ event_id, dispatches, dispatched_at }) =>
        dispatches.map(({ dispatch_id, endpoint_id }) => {
          return `${event_id}: ${dispatch_id} to ${endpoint_id}, accepted at ${dispatched_at}`
        }),
      )
      print({
        json: response,
        text: lines.join('\n') || 'No endpoint asks for events of these kinds: nothing is sent.',
      })
    })

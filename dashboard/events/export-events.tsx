import type { Cell } from '../../address-files/csv-line.ts'
import { type Event, EventService } from '../../gen/verdict/v1/events_pb.ts'
import { ExportList } from '../export/export-list.tsx'
import { kindCell, OUTCOME_HEAD, outcomeCells } from '../export/outcome-cells.ts'
import type { eventsRequest } from './event-filters.ts'

const HEAD = [
  'event_id',
  'timestamp',
  'event',
  'message_id',
  'recipient',
  'kind',
  ...OUTCOME_HEAD,
  'attempts',
  'acknowledged_at',
  'tag',
  'tenant_id',
  'dry_run',
]

export function eventLines(event: Event): Cell[][] {
  const { eventId, timestamp, messageId, recipient, attempts, acknowledgedAt, tag, tenantId, sandbox } = event
  return [
    [
      eventId,
      timestamp,
      event.event,
      messageId,
      recipient,
      kindCell(event.kind),
      ...outcomeCells(event),
      attempts,
      acknowledgedAt,
      tag,
      tenantId,
      sandbox,
    ],
  ]
}

export function ExportEvents({ filters }: { filters: ReturnType<typeof eventsRequest> }) {
  return (
    <ExportList
      method={EventService.method.listEvents}
      input={filters}
      read={({ events, nextCursor }) => ({ rows: events, next: nextCursor })}
      name="events"
      head={HEAD}
      linesOf={eventLines}
    />
  )
}

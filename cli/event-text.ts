import type { EventKind } from '../server/db/event-kinds.ts'

/** The fields of an event in the service's responses that are printed as text. */
export interface PrintedEvent {
  event_id: string
  event: string
  message_id: string
  status: string
  reason?: string
  feedback?: string
  detail?: string
  recipient: string
  timestamp: string
  tag?: string
  smtp?: { mx?: string; code?: number; reply?: string }
  attempts: number
  acknowledged_at?: string
}

/** The status of an outcome; for feedback also what was reported: `delivered, complaint`. */
const STATUS_OF: Record<EventKind, (event: PrintedEvent) => string> = {
  'email.delivery': ({ status }) => status,
  'email.feedback': ({ status, feedback }) => `${status}, ${feedback}`,
}

/** What an event says. An event of a kind that this version does not know also has its kind. */
export function statusOf(stored: PrintedEvent): string {
  const { status, event } = stored
  return STATUS_OF[event as EventKind]?.(stored) ?? `${status}, ${event}`
}

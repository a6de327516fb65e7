import type { Event } from '../../gen/verdict/v1/events_pb.ts'
import { FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { Pill, StatusPill } from './status-pill.tsx'

type EventPillProps = Pick<Event, 'event' | 'feedback' | 'status' | 'inDoubt'>

/** What an event reports: the outcome, or what came later. */
export function EventPill({ event, feedback, status, inDoubt }: EventPillProps) {
  if (feedback === FeedbackKind.LATE_BOUNCE) return <Pill tone="bounced" word="Late bounce" />
  if (feedback === FeedbackKind.COMPLAINT) return <Pill tone="error" word="Complaint" />
  // An event of a later kind is no outcome, although it has the status of one.
  if (event !== 'email.delivery') return <Pill tone="neutral" word={event} />
  return <StatusPill status={status} inDoubt={inDoubt} />
}

import type { Event } from '../../gen/verdict/v1/events_pb.ts'
import { FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { Pill, StatusPill } from './status-pill.tsx'

type EventPillProps = Pick<Event, 'feedback' | 'status' | 'inDoubt'>

/** What an event reports: the outcome, or what came later. */
export function EventPill({ feedback, status, inDoubt }: EventPillProps) {
  if (feedback === FeedbackKind.LATE_BOUNCE) return <Pill tone="bounced" word="Late bounce" />
  if (feedback === FeedbackKind.COMPLAINT) return <Pill tone="error" word="Complaint" />
  return <StatusPill status={status} inDoubt={inDoubt} />
}

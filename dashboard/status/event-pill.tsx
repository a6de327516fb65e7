import type { Event } from '../../gen/verdict/v1/events_pb.ts'
import { ReportPill } from './report-pill.tsx'
import { Pill, StatusPill } from './status-pill.tsx'

type EventPillProps = Pick<Event, 'event' | 'feedback' | 'member' | 'status' | 'inDoubt'>

/** What an event reports: the outcome, or what came later. */
export function EventPill({ event, feedback, member, status, inDoubt }: EventPillProps) {
  if (feedback !== undefined) return <ReportPill kind={feedback} member={member} />
  // An event of a later kind is no outcome, although it has the status of one.
  if (event !== 'email.delivery') return <Pill tone="neutral" word={event} />
  return <StatusPill status={status} inDoubt={inDoubt} />
}

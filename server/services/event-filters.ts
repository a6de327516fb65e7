import type { ListChangesRequest } from '../../gen/verdict/v1/events_pb.ts'
import { feedbackNames, reasonNames, statusNames } from '../db/outcome-names.ts'
import { isEventKind, ONE_OF_KINDS, readEnum, readRecipient, readTagFilter, refuse } from './listing.ts'

type AskedEvents = Pick<
  ListChangesRequest,
  'status' | 'reason' | 'recipient' | 'tenantId' | 'sandbox' | 'tag' | 'event' | 'feedback'
>

/** Reads the filters that a list of events and their stream have in common. `recipient` is in its matching form. */
export function readEventFilters(asked: AskedEvents) {
  const { status, reason, recipient, tenantId, sandbox, tag, event, feedback } = asked
  if (event !== undefined && !isEventKind(event)) throw refuse('event', ONE_OF_KINDS)
  return {
    event,
    tag: readTagFilter(tag),
    recipient: readRecipient(recipient),
    status: readEnum('status', status, statusNames),
    reason: readEnum('reason', reason, reasonNames),
    feedback: readEnum('feedback', feedback, feedbackNames),
    tenantId,
    sandbox,
  }
}

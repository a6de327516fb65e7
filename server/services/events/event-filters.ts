import type { ListChangesRequest } from '../../../gen/verdict/v1/events_pb.ts'
import { feedbackNames, reasonNames, statusNames } from '../../db/outcome-names.ts'
import { failField } from '../../errors.ts'
import { isEventKind, ONE_OF_KINDS, readEnum, readRecipient, readTagFilter } from '../listing/filters.ts'

type AskedEvents = Pick<
  ListChangesRequest,
  'status' | 'reason' | 'recipient' | 'tenantId' | 'sandbox' | 'tag' | 'event' | 'feedback'
>

/** Reads the filters that a list of events and their stream have in common. `recipient` is in its matching form. */
export function readEventFilters(asked: AskedEvents) {
  const { status, reason, recipient, tenantId, sandbox, tag, event, feedback } = asked
  if (event !== undefined && !isEventKind(event)) throw failField('event', ONE_OF_KINDS)
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

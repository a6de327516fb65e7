import type { ListChangesRequest } from '../../gen/verdict/v1/events_pb.ts'
import { reasonNames, statusNames } from '../db/outcome-names.ts'
import { isEventKind, ONE_OF_KINDS, readEnum, readRecipient, readTagFilter, refuse } from './listing.ts'

type AskedEvents = Pick<
  ListChangesRequest,
  'status' | 'reason' | 'recipient' | 'tenantId' | 'sandbox' | 'tag' | 'event'
>

/** Reads the filters that a list of events and their stream have in common. `recipient` is in its matching form. */
export function readEventFilters({ status, reason, recipient, tenantId, sandbox, tag, event }: AskedEvents) {
  if (event !== undefined && !isEventKind(event)) throw refuse('event', ONE_OF_KINDS)
  return {
    event,
    tag: readTagFilter(tag),
    recipient: readRecipient(recipient),
    status: readEnum('status', status, statusNames),
    reason: readEnum('reason', reason, reasonNames),
    tenantId,
    sandbox,
  }
}

import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ListEventsRequestSchema } from '../../gen/verdict/v1/events_pb.ts'
import type { Filter } from '../lists/filter.ts'
import {
  DRY_RUN_FILTER,
  FEEDBACK_FILTER,
  feedbackOfName,
  REASON_FILTER,
  RECIPIENT_FILTER,
  STATUS_FILTER,
  sandboxOfName,
  statusOfName,
  TAG_FILTER,
  TENANT_FILTER,
} from '../lists/outcome-filters.ts'
import { requestTime } from '../lists/read-filters.ts'
import { RANGE_PARAMETERS, type RangeSearch } from '../range/presets.ts'
import { reasonOfCode } from '../status/reasons.ts'
import { EVENT_KIND_NAMES } from './event-kinds.ts'

/** The filters of the list as the address of the page has them. */
export interface EventSearch extends RangeSearch {
  event?: string
  feedback?: string
  status?: string
  reason?: string
  recipient?: string
  message?: string
  tag?: string
  tenant?: string
  sandbox?: string
}

const KIND: Filter = {
  name: 'event',
  label: 'Kind',
  choices: EVENT_KIND_NAMES.map(({ kind, label }) => [kind, label]),
}
export const EVENT_FILTERS: Filter[] = [
  KIND,
  FEEDBACK_FILTER,
  STATUS_FILTER,
  REASON_FILTER,
  RECIPIENT_FILTER,
  { name: 'message', label: 'Message', placeholder: 'msg_...' },
  TAG_FILTER,
  TENANT_FILTER,
  DRY_RUN_FILTER,
]

/** The parameters of the page's address. */
export const EVENT_PARAMETERS: Filter[] = [...EVENT_FILTERS, ...RANGE_PARAMETERS]

/** The request for the events that match. */
export function eventsRequest(search: EventSearch): MessageInitShape<typeof ListEventsRequestSchema> {
  const { event, feedback, recipient, message, tag, tenant, status, reason, sandbox, from, to } = search
  return {
    event,
    feedback: feedbackOfName(feedback),
    recipient,
    messageId: message,
    tag,
    tenantId: tenant,
    status: statusOfName(status),
    reason: reasonOfCode(reason),
    sandbox: sandboxOfName(sandbox),
    from: requestTime(from),
    to: requestTime(to),
  }
}

/** The filters that a replay of a range takes. */
export interface ReplaySearch
  extends Pick<EventSearch, 'event' | 'status' | 'tag' | 'tenant' | 'range' | 'from' | 'to'> {
  missed?: string
}

/** The filters of a replay that are added one by one. Its times are fields. */
export const REPLAY_CHIPS: Filter[] = [
  KIND,
  STATUS_FILTER,
  TAG_FILTER,
  TENANT_FILTER,
  { name: 'missed', label: 'Webhook', choices: [['true', 'Not acknowledged']] },
]

export const REPLAY_PARAMETERS: Filter[] = [...REPLAY_CHIPS, ...RANGE_PARAMETERS]

/** Which events a replay sends again. */
export function replayFilterOf(search: ReplaySearch) {
  const { event, status, tag, tenant, from, to, missed } = search
  return {
    event,
    status: statusOfName(status),
    tag,
    tenantId: tenant,
    from: requestTime(from),
    to: requestTime(to),
    notAcknowledged: missed === 'true',
  }
}

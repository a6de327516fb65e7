import { DeliveryStatus, FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { GroupBy } from '../../gen/verdict/v1/stats_pb.ts'
import { ALL_REASONS, REASON_WORDS, reasonCode } from '../status/reasons.ts'
import type { Filter } from './filter.ts'

// Filters that the lists of messages and of events have in common.

const STATUSES: Record<string, DeliveryStatus> = {
  delivered: DeliveryStatus.DELIVERED,
  bounced: DeliveryStatus.BOUNCED,
  rejected: DeliveryStatus.REJECTED,
}

export const STATUS_FILTER: Filter = {
  name: 'status',
  label: 'Status',
  choices: [
    ['delivered', 'Delivered'],
    ['bounced', 'Bounced'],
    ['rejected', 'Rejected'],
  ],
}

export const REASON_FILTER: Filter = {
  name: 'reason',
  label: 'Reason',
  choices: ALL_REASONS.map((reason) => [reasonCode(reason)!, REASON_WORDS[reason]!]),
}

const REPORTS: Record<string, FeedbackKind> = {
  late_bounce: FeedbackKind.LATE_BOUNCE,
  complaint: FeedbackKind.COMPLAINT,
}

export const FEEDBACK_FILTER: Filter = {
  name: 'feedback',
  label: 'Reported later',
  choices: [
    ['late_bounce', 'Came back'],
    ['complaint', 'Complaint'],
  ],
}

export const DRY_RUN_FILTER: Filter = {
  name: 'sandbox',
  label: 'Dry runs',
  choices: [
    ['false', 'Real sends only'],
    ['true', 'Dry runs only'],
  ],
}

export const RECIPIENT_FILTER: Filter = { name: 'recipient', label: 'Recipient', placeholder: 'ann@example.com' }
export const RECIPIENT_DOMAIN_FILTER: Filter = {
  name: 'recipient_domain',
  label: 'Recipient domain',
  placeholder: 'example.com',
  known: GroupBy.RECIPIENT_DOMAIN,
}
export const TAG_FILTER: Filter = { name: 'tag', label: 'Tag', placeholder: 'password-reset', known: GroupBy.TAG }
export const SUBJECT_FILTER: Filter = { name: 'subject', label: 'Subject has', placeholder: 'order 4102' }
/** One pair: its key, and its value after the first `=`. */
export const METADATA_FILTER: Filter = {
  name: 'metadata',
  label: 'Metadata',
  placeholder: 'order=4102',
  pattern: String.raw`[A-Za-z0-9_.\-]{1,40}=.*`,
  patternWords: 'A key, = and the whole value: order=4102',
}
export const TENANT_FILTER: Filter = { name: 'tenant', label: 'Tenant', placeholder: 'shop-7', known: GroupBy.TENANT }

/** The status that the address of a page names. */
export const statusOfName = (name: string | undefined) => (name === undefined ? undefined : STATUSES[name])

/** The kind of report that the address of a page names. */
export const feedbackOfName = (name: string | undefined) => (name === undefined ? undefined : REPORTS[name])

/** Whether only dry runs or only real sends are asked for. */
export const sandboxOfName = (name: string | undefined) => (name === undefined ? undefined : name === 'true')

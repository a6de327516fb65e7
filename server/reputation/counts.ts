import { ReasonSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import { shortNames } from '../db/enum-names.ts'
import { LATENCY_COLUMNS } from '../db/latency-buckets.ts'

// What the columns of `hourly_stats` count.

/** Why an email was refused before anything was sent. Every other reason is a bounce. */
const REJECTIONS = ['suppression_list', 'invalid_address', 'domain_not_verified']

export const REASONS: readonly string[] = shortNames(ReasonSchema)

export interface Count {
  column: string
  /** SQL: which rows the column counts. */
  condition: string
}

/** What the record of a send counts. The conditions mention an email's status, reason, doubt
 * and bucket of latency. */
export const SEND_COUNTS: readonly Count[] = [
  { column: 'delivered', condition: `status = 'delivered'` },
  ...REASONS.map((reason) => ({ column: reason, condition: `reason = '${reason}'` })),
  { column: 'in_doubt', condition: 'in_doubt' },
  ...LATENCY_COLUMNS.map((column, bucket) => ({
    column,
    condition: `status <> 'rejected' and bucket = ${bucket}`,
  })),
]

/** What it counts when every email was delivered. */
export const DELIVERED_COUNTS: readonly Count[] = SEND_COUNTS.filter(
  ({ column }) => column === 'delivered' || LATENCY_COLUMNS.includes(column),
)

/**
 * What reports about sent messages count, in the hour of the report: complaints, and mailboxes that turned out not to
 * exist; and how many of them the breaker leaves out, see inbound/feedback.ts. The conditions mention the kind and the
 * reason of a report, and whether the breaker counts it.
 */
export const REPORT_COUNTS: readonly Count[] = [
  { column: 'complaints', condition: `kind = 'complaint'` },
  { column: 'late_bounces', condition: `reason = 'mailbox_does_not_exist'` },
  { column: 'uncounted_complaints', condition: `kind = 'complaint' and not counted` },
  { column: 'uncounted_late_bounces', condition: `reason = 'mailbox_does_not_exist' and not counted` },
]

/** What the rows of `open_stats` count, emails and reports alike. */
export const OPEN_COUNTS: readonly Count[] = [
  ...SEND_COUNTS,
  { column: 'complaints', condition: `status = 'complaint'` },
  { column: 'late_bounces', condition: `status = 'late_bounce'` },
]

/** SQL: which rows of `open_stats` a column counts. */
export const openCondition = (column: string) => OPEN_COUNTS.find((count) => count.column === column)!.condition

/** SQL: adds the counts of a new row to those of the row `kept`. */
export const addCounts = (columns: readonly string[]): string =>
  columns.map((column) => `${column} = kept.${column} + excluded.${column}`).join(',\n      ')

/** SQL: the sums of columns, under their names. */
export const addUp = (columns: readonly string[]): string =>
  columns.map((column) => `sum(${column}) as ${column}`).join(', ')

/** Shard of the hours that are over: see merge-statistics.ts. */
export const MERGED_SHARD = 0
/** Reports count in a shard apart from those of sends. */
export const REPORT_SHARD = -1

/**
 * Stands for the tenants that have no row of their own: see merge-statistics.ts. No tenant's name has a control
 * character.
 */
export const OTHER_TENANTS = '\t'
/** Stands for all sends of an account on a whole day: see day-statistics.ts. */
export const DAY_ROWS = '\tday'

// Sums of columns, as SQL. A bounce had reached DNS or SMTP, so sent = delivered + bounced.

export const REJECTED = REJECTIONS.join(' + ')
export const BOUNCED = REASONS.filter((reason) => !REJECTIONS.includes(reason)).join(' + ')
export const SENT = `delivered + ${BOUNCED}`

// What the breaker counts.

/** Mailboxes that do not exist, whether their server said so at once or later. */
export const HARD_BOUNCES = 'mailbox_does_not_exist + late_bounces - uncounted_late_bounces'
export const COMPLAINTS = 'complaints - uncounted_complaints'

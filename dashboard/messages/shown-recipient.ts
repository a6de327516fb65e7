import type { ListedEmail, ListedRecipient } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, type FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { comparable, isSought } from '../outside-text/comparable.ts'
import { present } from '../present.ts'
import { shownOutcome } from '../status/statuses.ts'

/** What the list is filtered by, as far as it speaks of one recipient. */
interface Sought {
  recipient?: string
  inDoubt?: boolean
  feedback?: FeedbackKind
}

/**
 * The recipient that a row of the list names. The status beside the name is this recipient's: the
 * recipient that the list is filtered by, else the first that gives the email its status. A delivered email shows the
 * recipient that a report is about.
 */
export function shownRecipient(email: ListedEmail, { recipient, inDoubt, feedback }: Sought): ListedRecipient {
  const { recipients, status, reason } = email
  const isReported = feedback !== undefined || status === DeliveryStatus.DELIVERED
  const reported = email.feedback
    .filter(({ kind, member }) => (feedback === undefined ? !member : kind === feedback))
    .map((report) => comparable(report.recipient))
  return (
    recipients.find((one) => recipient !== undefined && isSought(one.email, recipient)) ??
    recipients.find((one) => inDoubt && one.inDoubt) ??
    recipients.find((one) => isReported && reported.includes(comparable(one.email))) ??
    recipients.find((one) => one.status === status && one.reason === reason) ??
    present(recipients[0])
  )
}

/** How many recipients ended in each way: `bounced`, `in doubt`. */
export function countsByOutcome(recipients: readonly Pick<ListedRecipient, 'status' | 'inDoubt'>[]) {
  const words = recipients.map(({ status, inDoubt }) => shownOutcome(status, inDoubt).word.toLowerCase())
  return [...Map.groupBy(words, (word) => word)].map(([word, { length }]) => ({ word, length }))
}

/** How the recipients differ, such as `1 of 3 bounced, 1 in doubt`. Undefined when all ended alike. */
export function differenceOf(recipients: readonly ListedRecipient[]): string | undefined {
  const counts = countsByOutcome(recipients)
  if (counts.length === 1) return undefined
  return counts
    .filter(({ word }) => word !== 'delivered')
    .map(({ word, length }, i) => (i === 0 ? `${length} of ${recipients.length} ${word}` : `${length} ${word}`))
    .join(', ')
}

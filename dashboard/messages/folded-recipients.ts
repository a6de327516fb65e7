import type { GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, type RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { countsByOutcome } from './shown-recipient.ts'

/** A list of up to this many recipients or events is shown whole. */
export const FEW = 5
/** The most failed recipients that a longer list shows at first. */
const MOST = 10

/** The recipients whose rows are shown at first, and the others. `open`: the one whose row is open. */
export function foldedRecipients(
  recipients: readonly RecipientOutcome[],
  feedback: GetEmailResponse['feedback'],
  open?: string,
) {
  const isFine = ({ email, status }: RecipientOutcome) =>
    status === DeliveryStatus.DELIVERED && !feedback.some(({ recipient }) => recipient === email)
  const failed = recipients.filter((one) => !isFine(one))
  const ordered = [...failed, ...recipients.filter(isFine)]
  const most = recipients.length <= FEW || failed.length === 0 ? FEW : Math.min(failed.length, MOST)
  const isShown = (one: RecipientOutcome, place: number) => place < most || one.email === open
  return { shown: ordered.filter(isShown), folded: ordered.filter((one, place) => !isShown(one, place)) }
}

/** `40 delivered`, `4 bounced and 36 delivered`. */
export function outcomeCounts(recipients: RecipientOutcome[]): string {
  return new Intl.ListFormat('en').format(countsByOutcome(recipients).map(({ word, length }) => `${length} ${word}`))
}

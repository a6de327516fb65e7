import type { GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, type RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { shownOutcome } from '../status/statuses.ts'

/** Of more recipients, those who got the message are folded. */
const FEW = 5
/** Of more recipients who did not get it, the others are folded, too. */
const MOST = 10

/** The recipients whose rows are shown at first, and the others. `open`: the one whose row is open. */
export function foldedRecipients(
  recipients: readonly RecipientOutcome[],
  feedback: GetEmailResponse['feedback'],
  open?: string,
) {
  const isFine = ({ email, status }: RecipientOutcome) =>
    status === DeliveryStatus.DELIVERED && !feedback.some(({ recipient }) => recipient === email)
  const ordered = [...recipients.filter((one) => !isFine(one)), ...recipients.filter(isFine)]
  const failed = ordered.filter((one) => !isFine(one)).length
  const most = recipients.length <= FEW || failed === 0 ? FEW : Math.min(failed, MOST)
  const isShown = (one: RecipientOutcome, place: number) => place < most || one.email === open
  return { shown: ordered.filter(isShown), folded: ordered.filter((one, place) => !isShown(one, place)) }
}

/** `40 delivered`, `4 bounced and 36 delivered`. */
export function countsOf(recipients: RecipientOutcome[]): string {
  const words = recipients.map(({ status, inDoubt }) => shownOutcome(status, inDoubt).word.toLowerCase())
  const counts = [...Map.groupBy(words, (word) => word)].map(([word, { length }]) => `${length} ${word}`)
  return new Intl.ListFormat('en').format(counts)
}

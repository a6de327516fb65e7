import { type Sentence, sentenceOfMessage, sentenceOfReports } from '../../dashboard/messages/sentences.ts'
import { DeliveryStatus, FeedbackKind, Reason } from '../../gen/verdict/v1/outcomes_pb.ts'

/** An outcome as the REST API writes it. */
export interface RecipientJson {
  email?: string
  status: string
  reason?: string
  in_doubt?: boolean
  retryable?: boolean
  detail?: string
}

/** The sentence that the dashboard shows on top of a message. */
export function messageSentence(recipients: RecipientJson[], sandbox: boolean): string {
  return written(sentenceOfMessage(recipients.map(recipientOutcome), sandbox).sentence)
}

/** The sentence about what was reported later; undefined without a report. */
export function reportsSentence(reports: { recipient: string; kind: string }[]): string | undefined {
  const known = FeedbackKind as unknown as Record<string, FeedbackKind | undefined>
  const found = sentenceOfReports(
    reports.map(({ recipient, kind }) => {
      return { email: recipient, feedback: known[kind.toUpperCase()] ?? FeedbackKind.UNSPECIFIED }
    }),
  )
  return found && written(found.sentence)
}

function recipientOutcome({ email = '', status, reason, in_doubt: inDoubt, retryable, detail }: RecipientJson) {
  const statuses = DeliveryStatus as unknown as Record<string, DeliveryStatus | undefined>
  const reasons = Reason as unknown as Record<string, Reason | undefined>
  return {
    email,
    status: statuses[status.toUpperCase()] ?? DeliveryStatus.UNSPECIFIED,
    reason: reason === undefined ? undefined : reasons[reason.toUpperCase()],
    inDoubt,
    retryable,
    detail,
  }
}

/** Without the address and its domain: their owner chose these words, and a sentence is the service's own. */
function written({ what, advice = '' }: Sentence): string {
  const text = `${what} ${advice}`.trim()
  const named = text.replaceAll('{address}', 'the recipient').replaceAll('{domain}', "the recipient's domain")
  return named.charAt(0).toUpperCase() + named.slice(1)
}

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
  const { sentence, about } = sentenceOfMessage(recipients.map(outcomeOf), sandbox)
  return written(sentence, about.email)
}

/** The sentence about what was reported later; undefined without a report. */
export function reportsSentence(reports: { recipient: string; kind: string }[]): string | undefined {
  const known = FeedbackKind as unknown as Record<string, FeedbackKind | undefined>
  const found = sentenceOfReports(
    reports.map(({ recipient, kind }) => {
      return { email: recipient, feedback: known[kind.toUpperCase()] ?? FeedbackKind.UNSPECIFIED }
    }),
  )
  return found && written(found.sentence, found.about.email)
}

function outcomeOf({ email = '', status, reason, in_doubt: inDoubt, retryable, detail }: RecipientJson) {
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

/** An address that cannot hold a sentence of its own: a quoted local part may say anything. */
const PLAIN = /^[\w.+-]{1,64}@[\w.-]{1,253}$/

function written({ what, advice = '' }: Sentence, email: string): string {
  const address = PLAIN.test(email) ? email : 'the recipient'
  const domain = PLAIN.test(email) ? email.slice(email.indexOf('@') + 1) : "the recipient's domain"
  const text = `${what} ${advice}`.trim().replaceAll('{address}', address).replaceAll('{domain}', domain)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

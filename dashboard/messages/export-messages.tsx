import type { Cell } from '../../address-files/csv-line.ts'
import { EmailService, type ListedEmail, type ListedRecipient } from '../../gen/verdict/v1/emails_pb.ts'
import { FeedbackKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { ExportList } from '../export/export-list.tsx'
import { apiName, kindCell, OUTCOME_HEAD, outcomeCells } from '../export/outcome-cells.ts'
import { comparable, isSought } from '../outside-text/comparable.ts'
import { msOf } from '../time/ms-of.ts'
import type { messagesRequest } from './message-filters.ts'

const HEAD = [
  'message_id',
  'sent_at',
  'from',
  'recipient',
  'kind',
  ...OUTCOME_HEAD,
  'subject',
  'tag',
  'tenant_id',
  'dry_run',
  'feedback',
]

/** What came back about a recipient, such as `late_bounce 2026-01-31T12:00:00.000Z`. */
function reportsCell({ feedback }: ListedEmail, { email }: ListedRecipient): Cell {
  const reports = feedback.filter(({ recipient }) => comparable(recipient) === comparable(email))
  const words = reports.map(
    ({ kind, reportedAt }) => `${apiName(FeedbackKind, kind)} ${new Date(msOf(reportedAt)).toISOString()}`,
  )
  return words.join(', ') || undefined
}

/** A line for each recipient; of a list that is filtered by a recipient, for those that match. */
export function messageLines(email: ListedEmail, filters: ReturnType<typeof messagesRequest>): Cell[][] {
  const { messageId, createdAt, from, subject, tag, tenantId, sandbox } = email
  const { recipient: sought } = filters
  const recipients = email.recipients.filter(({ email }) => sought === undefined || isSought(email, sought))
  return recipients.map((recipient) => [
    messageId,
    createdAt,
    from,
    recipient.email,
    kindCell(recipient.kind),
    ...outcomeCells(recipient),
    subject,
    tag,
    tenantId,
    sandbox,
    reportsCell(email, recipient),
  ])
}

export function ExportMessages({ filters }: { filters: ReturnType<typeof messagesRequest> }) {
  return (
    <ExportList
      method={EmailService.method.listEmails}
      input={filters}
      read={({ emails, nextCursor }) => ({ rows: emails, next: nextCursor })}
      name="messages"
      head={HEAD}
      linesOf={(email) => messageLines(email, filters)}
    />
  )
}

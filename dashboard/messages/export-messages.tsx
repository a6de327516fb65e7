import type { Cell } from '../../address-files/csv-line.ts'
import { EmailService, type ListedEmail } from '../../gen/verdict/v1/emails_pb.ts'
import { ExportList } from '../export/export-list.tsx'
import { kindCell, OUTCOME_HEAD, outcomeCells } from '../export/outcome-cells.ts'
import type { requestOf } from './message-filters.ts'
import { shownRecipient } from './shown-recipient.ts'

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
]

/** A line for each recipient; of a list that is filtered by a recipient, for that one only. */
export function linesOf(email: ListedEmail, filters: ReturnType<typeof requestOf>): Cell[][] {
  const { messageId, createdAt, from, subject, tag, tenantId, sandbox } = email
  const recipients = filters.recipient === undefined ? email.recipients : [shownRecipient(email, filters)]
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
  ])
}

export function ExportMessages({ filters }: { filters: ReturnType<typeof requestOf> }) {
  return (
    <ExportList
      method={EmailService.method.listEmails}
      input={filters}
      read={({ emails, nextCursor }) => ({ rows: emails, next: nextCursor })}
      name="messages"
      head={HEAD}
      linesOf={(email) => linesOf(email, filters)}
    />
  )
}

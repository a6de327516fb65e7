import { IconChevronRight } from '@tabler/icons-react'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useId, useReducer } from 'react'
import type { GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, RecipientKind, type RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { useAccount } from '../account/account.ts'
import { EmailAddress } from '../outside-text/address.tsx'
import { REASON_WORDS } from '../status/reasons.ts'
import { ReportPills } from '../status/report-pill.tsx'
import { StatusPill } from '../status/status-pill.tsx'
import { Conversation } from './conversation.tsx'
import { phaseLength } from './conversation-steps.ts'
import { foldedRecipients, outcomeCounts } from './folded-recipients.ts'
import styles from './message.module.css'
import { SuppressionNote } from './suppression-note.tsx'

const KINDS: Record<RecipientKind, string> = {
  [RecipientKind.UNSPECIFIED]: '',
  [RecipientKind.TO]: 'To',
  [RecipientKind.CC]: 'Cc',
  [RecipientKind.BCC]: 'Bcc',
}

/**
 * The recipients, one row each: first those who did not get the message, or about whom something was reported. A row
 * opens the conversation with the recipient's server. The only recipient is open, or the first who did not get it.
 */
export function RecipientList({ email: { messageId, recipients, feedback } }: { email: GetEmailResponse }) {
  const navigate = useNavigate({ from: '/$account/messages/$message' })
  const search = useSearch({ from: '/$account/messages/$message' })
  const first =
    recipients.length === 1 ? recipients[0] : recipients.find(({ status }) => status !== DeliveryStatus.DELIVERED)
  // The address of the page names the one that a person has opened.
  const open = search.recipient ?? first?.email
  const { shown, folded } = foldedRecipients(recipients, feedback, open)
  const [isUnfolded, unfold] = useReducer(() => true, false)
  const toggle = (email: string) =>
    void navigate({
      search: (now) => ({ ...now, recipient: email === open ? 'none' : email }),
      replace: true,
      resetScroll: false,
    })
  return (
    <section className={styles.section}>
      <h2>{recipients.length === 1 ? 'Recipient' : `${recipients.length} recipients`}</h2>
      <ul className={styles.recipients}>
        {[...shown, ...(isUnfolded ? folded : [])].map((recipient) => (
          <RecipientListItem
            key={`${recipient.kind} ${recipient.email}`}
            messageId={messageId}
            recipient={recipient}
            reports={feedback}
            open={recipient.email === open}
            onToggle={() => toggle(recipient.email)}
          />
        ))}
        {folded.length > 0 && !isUnfolded && (
          <li>
            <button type="button" className={styles.unfold} onClick={unfold}>
              Show {folded.length} more: {outcomeCounts(folded)}
            </button>
          </li>
        )}
      </ul>
    </section>
  )
}

interface RecipientRowProps {
  messageId: string
  recipient: RecipientOutcome
  reports: GetEmailResponse['feedback']
  open: boolean
  onToggle(): void
}

function RecipientListItem({ messageId, recipient, reports, open, onToggle }: RecipientRowProps) {
  const { email, kind, status, reason, inDoubt, smtp } = recipient
  const id = useId()
  return (
    <li>
      <button type="button" className={styles.recipient} aria-expanded={open} aria-controls={id} onClick={onToggle}>
        <IconChevronRight size={16} className={styles.chevron} aria-hidden />
        <span className={styles.kind}>{KINDS[kind]}</span>
        <span className={styles.who}>
          <span className={styles.address}>
            <EmailAddress email={email} wrap />
          </span>
          <span className={styles.server}>
            {reason !== undefined && !inDoubt && <span>{REASON_WORDS[reason]}</span>}
            {smtp?.mx && <bdi>{smtp.mx}</bdi>}
            {smtp && <span>{phaseLength(smtp.durationMs)}</span>}
          </span>
        </span>
        <span className={styles.pills}>
          <StatusPill status={status} inDoubt={inDoubt} />
          <ReportPills reports={reports} recipient={email} />
        </span>
      </button>
      <div id={id} hidden={!open}>
        {open && (
          <>
            <SuppressionNote email={email} messageId={messageId} />
            <Conversation recipient={recipient} />
            <OtherMessages email={email} />
          </>
        )}
      </div>
    </li>
  )
}

function OtherMessages({ email }: { email: string }) {
  const { membership } = useAccount()
  return (
    <p className={styles.others}>
      <Link
        to="/$account/messages"
        params={{ account: membership.accountId }}
        search={{ recipient: email }}
        className="text-link"
      >
        All messages to this address
      </Link>
    </p>
  )
}

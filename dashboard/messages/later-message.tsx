import { useQuery } from '@connectrpc/connect-query'
import { Link } from '@tanstack/react-router'
import { EmailService, type GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { useAccount } from '../account/account.ts'
import { shownOutcome } from '../status/statuses.ts'
import { Ago } from '../time/ago.tsx'
import { shownRecipient } from './shown-recipient.ts'

/** The words of a subject that the list takes. */
const MOST_CHARACTERS = 200
/** How many messages with these words are compared. */
const LOOKED_AT = 20

interface LaterMessageProps {
  email: GetEmailResponse
  /** The recipient that did not get it. */
  recipient: string
}

/** The newest message with the same subject to a recipient that did not get this one, whoever sent it. */
export function LaterMessage({ email, recipient }: LaterMessageProps) {
  const { membership } = useAccount()
  const { subject, sandbox, createdAt, messageId } = email
  const isSearched = /[\p{L}\p{N}]/u.test(subject) && [...subject].length <= MOST_CHARACTERS
  const { data } = useQuery(
    EmailService.method.listEmails,
    { recipient, subject, sandbox, from: createdAt, limit: LOOKED_AT },
    { enabled: isSearched },
  )
  const later = data?.emails.find((one) => one.subject === subject && one.messageId > messageId)
  if (!later) return null
  const { status, inDoubt } = shownRecipient(later, { recipient })
  return (
    <p>
      <Link
        to="/$account/messages/$message"
        params={{ account: membership.accountId, message: later.messageId }}
        className="text-link"
      >
        A newer message with this subject
      </Link>{' '}
      to the same address: {shownOutcome(status, inDoubt).word}, <Ago at={later.createdAt} />
    </p>
  )
}

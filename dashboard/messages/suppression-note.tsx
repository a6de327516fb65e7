import { useQuery } from '@connectrpc/connect-query'
import { Link } from '@tanstack/react-router'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { SuppressionReason, SuppressionScope } from '../../gen/verdict/v1/outcomes_pb.ts'
import { type SuppressionEntry, SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { EvidenceNote } from '../suppressions/evidence-note.tsx'
import { RemoveSuppression } from '../suppressions/remove-suppression.tsx'
import { scopeWords } from '../suppressions/suppressions.ts'
import { Moment } from '../time/ago.tsx'
import styles from './message.module.css'

/** Says that a recipient is suppressed now, and why, and lets the person remove the entry. */
export function SuppressionNote({ email, messageId }: { email: string; messageId: string }) {
  const { data } = useQuery(SuppressionService.method.list, { email })
  return data?.entries.map((entry) => (
    <Note key={`${entry.scope} ${entry.tenantId}`} entry={entry} messageId={messageId} />
  ))
}

function Note({ entry, messageId }: { entry: SuppressionEntry; messageId: string }) {
  const { membership } = useAccount()
  const mayChange = useMay(Role.MEMBER) && entry.scope !== SuppressionScope.GLOBAL
  const { email, expiresAt, scope, tenantId, reason, evidence } = entry
  const params = { account: membership.accountId }
  return (
    <div className={styles.suppressed}>
      <p>
        This address is on the{' '}
        <Link to="/$account/suppressions" params={params} search={{ email }} className="text-link">
          suppression list
        </Link>{' '}
        ({scopeWords(scope, tenantId)}), because of <Origin entry={entry} messageId={messageId} />. Sends to it are
        rejected{expiresAt && ' until '}
        {expiresAt && <Moment at={expiresAt} />}.{' '}
        {evidence && reason === SuppressionReason.BOUNCE && <EvidenceNote evidence={evidence} />}
      </p>
      {mayChange && <RemoveSuppression {...entry} />}
    </div>
  )
}

const CAUSES: Partial<Record<SuppressionReason, string>> = {
  [SuppressionReason.BOUNCE]: 'bounce',
  [SuppressionReason.COMPLAINT]: 'complaint',
}

function Origin({ entry: { reason, messageId: message }, messageId }: { entry: SuppressionEntry; messageId: string }) {
  const { membership } = useAccount()
  const word = CAUSES[reason]
  if (!word) return reason === SuppressionReason.IMPORT ? 'an import' : 'an entry made by hand'
  if (message === messageId) return `this ${word}`
  if (!message) return `a ${word}`
  return (
    <Link to="/$account/messages/$message" params={{ account: membership.accountId, message }} className="text-link">
      an earlier {word}
    </Link>
  )
}

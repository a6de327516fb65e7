import { Button } from '@mantine/core'
import { IconFileImport, IconPlus } from '@tabler/icons-react'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { DecidedBy, EvidenceKind, SuppressionReason, SuppressionScope } from '../../gen/verdict/v1/outcomes_pb.ts'
import {
  type SuppressionEntry,
  SuppressionService,
  type SuppressionServiceListResponse,
} from '../../gen/verdict/v1/suppression_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { ReaderNote } from '../account/reader-note.tsx'
import { ExportList } from '../export/export-list.tsx'
import { apiName } from '../export/outcome-cells.ts'
import { EmptyState } from '../feedback/empty-state.tsx'
import { useAddressedDialog } from '../frame/addressed-dialog.ts'
import { Page } from '../frame/page.tsx'
import { useCursorList } from '../lists/cursor-list.ts'
import { FilterBar } from '../lists/filter-bar.tsx'
import { List } from '../lists/list.tsx'
import type { Column } from '../lists/rows.tsx'
import { EmailAddress } from '../outside-text/address.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { useTimes } from '../range/use-times.ts'
import { Ago } from '../time/ago.tsx'
import { AddSuppression } from './add-suppression.tsx'
import { EvidenceNote } from './evidence-note.tsx'
import { kindWord } from './evidence-words.ts'
import { LiftSuppressions } from './lift-suppressions.tsx'
import { RemoveSuppression } from './remove-suppression.tsx'
import styles from './suppressions.module.css'
import {
  entryReasonWord,
  liftRequestOf,
  SUPPRESSION_FILTERS,
  type SuppressionSearch,
  scopeWords,
  suppressionsRequest,
  withoutAddress,
} from './suppressions.ts'

/** The addresses that are never mailed. */
export function SuppressionsPage() {
  const { membership } = useAccount()
  const params = { account: membership.accountId }
  const search = useSearch({ from: '/$account/suppressions' })
  const times = useTimes(search)
  const navigate = useNavigate()
  const mayChange = useMay(Role.MEMBER)
  const [adding, { open, close }] = useAddressedDialog('add')
  const asked = {
    method: SuppressionService.method.list,
    input: suppressionsRequest(times),
    read: ({ entries, nextCursor }: SuppressionServiceListResponse) => ({ rows: entries, next: nextCursor }),
  }
  const list = useCursorList({ ...asked, idOf })
  const columns = mayChange ? [...COLUMNS, REMOVE] : COLUMNS
  const actions = (
    <>
      <ExportList {...asked} name="suppressions" head={EXPORT_HEAD} linesOf={linesOf} />
      {mayChange && (
        <>
          <Button
            variant="default"
            size="sm"
            leftSection={<IconFileImport size={16} aria-hidden />}
            renderRoot={(props) => <Link {...props} to="/$account/suppressions/import" params={params} />}
          >
            Import a file
          </Button>
          <Button size="sm" leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
            Add address
          </Button>
        </>
      )}
    </>
  )
  const change = (next: Partial<SuppressionSearch>) =>
    void navigate({
      to: '/$account/suppressions',
      params,
      search: (current: SuppressionSearch) => ({ ...current, ...next }),
    })
  return (
    <Page title="Suppressions" actions={actions}>
      <ReaderNote />
      <FilterBar filters={SUPPRESSION_FILTERS} search={search} onChange={change}>
        {mayChange && <LiftSuppressions filters={liftRequestOf(times)} />}
      </FilterBar>
      <List
        list={list}
        label="Suppressed addresses"
        columns={columns}
        idOf={idOf}
        empty={
          <EmptyState title="No address is suppressed here" command="npx verdict suppression add ann@example.com">
            Addresses that bounce for good or complain are added automatically, except those at simulator.test. A send
            to one is rejected, and nothing leaves the service.
          </EmptyState>
        }
      />
      <AddSuppression opened={adding} onClose={close} />
    </Page>
  )
}

const idOf = ({ scope, tenantId = '', email }: SuppressionEntry) => `${scope} ${tenantId} ${email}`

const EXPORT_HEAD = [
  ...['email', 'scope', 'tenant_id', 'reason', 'message_id', 'detail', 'created_at', 'expires_at'],
  ...['kind', 'decided_by', 'words', 'code', 'enhanced', 'read_as', 'last_delivered_at'],
]

function linesOf(entry: SuppressionEntry) {
  const { email, scope, tenantId, reason, messageId, detail, createdAt, expiresAt, evidence } = entry
  const names = [apiName(SuppressionScope, scope), tenantId, apiName(SuppressionReason, reason)]
  const { kind, decidedBy, words, code, enhanced, readAs, lastDeliveredAt } = evidence ?? {}
  const read = [
    apiName(EvidenceKind, kind),
    apiName(DecidedBy, decidedBy),
    words,
    code,
    enhanced,
    readAs,
    lastDeliveredAt,
  ]
  return [[email, ...names, messageId, detail, createdAt, expiresAt, ...read]]
}

const COLUMNS: Column<SuppressionEntry>[] = [
  { head: 'Address', bare: true, wide: true, cell: (entry) => <AddressCell {...entry} /> },
  { head: 'Applies to', cell: ({ scope, tenantId }) => <OutsideText text={scopeWords(scope, tenantId)} line /> },
  { head: 'Reason', cell: (entry) => <ReasonCell {...entry} /> },
  { head: 'Added', cell: ({ createdAt }) => createdAt && <Ago at={createdAt} /> },
  { head: 'Ends', cell: ({ expiresAt }) => (expiresAt ? <Ago at={expiresAt} /> : 'Never') },
]

const REMOVE: Column<SuppressionEntry> = {
  head: 'Remove',
  quiet: true,
  cell: (entry) => entry.scope !== SuppressionScope.GLOBAL && <RemoveSuppression {...entry} />,
}

/** The address, and below it the words of the recipient's server that led to its entry. */
function AddressCell({ email, detail, reason, evidence }: SuppressionEntry) {
  return (
    <div className={styles.address}>
      <EmailAddress email={email} wrap />
      {detail && (
        <div className={`${styles.detail} ${styles.reply}`}>
          <OutsideText text={withoutAddress(detail, email)} />
        </div>
      )}
      {evidence && reason === SuppressionReason.BOUNCE && (
        <div className={styles.detail}>
          <EvidenceNote evidence={evidence} />
        </div>
      )}
    </div>
  )
}

function ReasonCell({ reason, messageId, evidence }: SuppressionEntry) {
  const { membership } = useAccount()
  const word = (reason === SuppressionReason.BOUNCE && kindWord(evidence?.kind)) || entryReasonWord(reason)
  if (!messageId) return word
  return (
    <Link
      to="/$account/messages/$message"
      params={{ account: membership.accountId, message: messageId }}
      className="text-link"
    >
      {word}
    </Link>
  )
}

import { useQuery } from '@connectrpc/connect-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ActorKind, type AuditEntry, AuditService } from '../../../gen/verdict/admin/v1/audit_pb.ts'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { useMay } from '../../account/account.ts'
import { EmptyState } from '../../feedback/empty-state.tsx'
import { Page } from '../../frame/page.tsx'
import { useCursorList } from '../../lists/cursor-list.ts'
import { FilterChips } from '../../lists/filter-chips.tsx'
import { List } from '../../lists/list.tsx'
import type { Column } from '../../lists/rows.tsx'
import { OutsideText } from '../../outside-text/outside-text.tsx'
import { Ago } from '../../time/ago.tsx'
import { actionWords } from './actions.ts'
import styles from './audit.module.css'
import { AuditedChange } from './change.tsx'

/** Who changed what in the account, for all but readers. */
export function AuditPage() {
  if (useMay(Role.MEMBER)) return <AuditLog />
  return (
    <Page title="Audit log">
      <EmptyState title="Readers do not see the audit log">
        Ask an owner of the account for the role of a member, or for the entry that you look for.
      </EmptyState>
    </Page>
  )
}

function AuditLog() {
  const { action } = useSearch({ from: '/$account/settings/audit' })
  const navigate = useNavigate({ from: '/$account/settings/audit' })
  // Every page of the log names all actions.
  const first = useQuery(AuditService.method.listAuditEntries, { limit: 1 }, { staleTime: Number.POSITIVE_INFINITY })
  const actions = first.data?.actions ?? []
  const list = useCursorList({
    method: AuditService.method.listAuditEntries,
    input: { action },
    read: ({ entries, nextCursor }) => ({ rows: entries, next: nextCursor }),
    idOf: (entry) => entry.entryId,
    pollMs: 15_000,
  })
  return (
    <Page title="Audit log">
      <div className={styles.filters}>
        <FilterChips
          filters={[
            {
              name: 'action',
              label: 'Action',
              choices: actions.map((one): [string, string] => [one, actionWords(one)]),
            },
          ]}
          values={{ action }}
          onChange={(_, value) => void navigate({ search: { action: value } })}
        />
      </div>
      <List
        list={list}
        label="Audit log"
        columns={COLUMNS}
        idOf={(entry) => entry.entryId}
        empty={
          <EmptyState title={action ? 'No such change' : 'No change yet'}>
            Every change of keys, domains, the webhook, suppressions, people and how they sign in appears here: by the
            dashboard, the API and the command line. Entries are never changed.
          </EmptyState>
        }
      />
    </Page>
  )
}

const COLUMNS: Column<AuditEntry>[] = [
  { head: 'When', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { head: 'Who', cell: (entry) => <ActorCell entry={entry} /> },
  { head: 'Change', wide: true, cell: (entry) => <AuditedChange entry={entry} /> },
]

const ACTOR_WORDS: Record<ActorKind, string> = {
  [ActorKind.UNSPECIFIED]: '',
  [ActorKind.PERSON]: '',
  [ActorKind.API_KEY]: 'API key',
  [ActorKind.OPERATOR]: 'Command line',
  [ActorKind.STRANGER]: '',
}

function ActorCell({ entry }: { entry: AuditEntry }) {
  return (
    <div>
      {entry.actorKind === ActorKind.STRANGER ? 'Not signed in' : <OutsideText text={entry.actorName} line />}
      <div className="faint">{ACTOR_WORDS[entry.actorKind] || entry.remoteAddress}</div>
    </div>
  )
}

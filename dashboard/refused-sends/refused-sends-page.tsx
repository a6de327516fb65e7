import { useQuery } from '@connectrpc/connect-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { KeyService } from '../../gen/verdict/admin/v1/keys_pb.ts'
import { EmailService, type ListRefusedSendsResponse, type RefusedSend } from '../../gen/verdict/v1/emails_pb.ts'
import { ErrorReason } from '../../gen/verdict/v1/errors_pb.ts'
import { ShortId } from '../copy/short-id.tsx'
import { ExportList } from '../export/export-list.tsx'
import { EmptyState } from '../feedback/empty-state.tsx'
import { Page } from '../frame/page.tsx'
import { useCursorList } from '../lists/cursor-list.ts'
import { FilterBar } from '../lists/filter-bar.tsx'
import { List } from '../lists/list.tsx'
import type { Column } from '../lists/rows.tsx'
import { countOf } from '../numbers/quantities.ts'
import { EmailAddress } from '../outside-text/address.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { useTimes } from '../range/use-times.ts'
import { Pill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import { errorCode, errorWord, REFUSED_FILTERS, refusedSendsRequest } from './refused-filters.ts'
import styles from './refused-sends.module.css'

const method = EmailService.method.listRefusedSends
const KEPT_MS = 7 * 24 * 60 * 60_000

/** Sends that ended with an error before there was an email, newest first. */
export function RefusedSendsPage() {
  const search = useSearch({ from: '/$account/refused-sends' })
  const navigate = useNavigate({ from: '/$account/refused-sends' })
  const input = refusedSendsRequest(useTimes(search))
  const list = useCursorList({ method, input, read: pageOf, idOf })
  const keys = useQuery(KeyService.method.listKeys)
  const names = new Map(keys.data?.keys.map(({ keyId, name }) => [keyId, name]))
  return (
    <Page title="Refused sends" actions={<Export input={input} />}>
      <p className={`soft ${styles.words}`}>
        Requests that ended with an error: nothing was sent, and no message was stored. The program that made them must
        send them again. They are kept for 7 days.
      </p>
      <FilterBar
        filters={REFUSED_FILTERS}
        search={search}
        all="All 7 days"
        keptMs={KEPT_MS}
        onChange={(next) => void navigate({ search: (current) => ({ ...current, ...next }), replace: true })}
      />
      <NotStored />
      <List
        list={list}
        label="Refused sends"
        columns={columnsWith(names)}
        idOf={idOf}
        empty={
          <EmptyState title={Object.keys(search).length > 0 ? 'No refused send matches' : 'No send was refused'}>
            A request that the service answers with an error appears here a second later.
          </EmptyState>
        }
      />
    </Page>
  )
}

const idOf = ({ requestId, at, error, recipients }: RefusedSend) =>
  [requestId, at?.seconds, at?.nanos, error, ...recipients].join(' ')
const pageOf = ({ refusedSends, nextCursor }: ListRefusedSendsResponse) => ({ rows: refusedSends, next: nextCursor })

/** How many are missing in every list. */
function NotStored() {
  const { data } = useQuery(method, { limit: 1 })
  if (!data?.notStored) return null
  return (
    <p className="soft" role="note">
      {countOf(data.notStored)} more of the last 7 days {data.notStored === 1 ? 'was' : 'were'} not stored: at most 60 a
      minute are.
    </p>
  )
}

function columnsWith(keyNames: ReadonlyMap<string, string>): Column<RefusedSend>[] {
  return [
    { head: 'Why', bare: true, wide: true, cell: (row) => <Why {...row} /> },
    { head: 'To', bare: true, cell: ({ recipients }) => <RecipientsCell recipients={recipients} /> },
    { head: 'From', cell: ({ from }) => from && <EmailAddress email={from} /> },
    {
      head: 'Key',
      cell: ({ keyId }) => keyId && <OutsideText text={keyNames.get(keyId) ?? keyId} line />,
    },
    { head: 'Request', cell: ({ requestId }) => <ShortId id={requestId} label="request id" /> },
    { head: 'Refused', bare: 'corner', numbers: true, cell: ({ at }) => <Ago at={at} /> },
  ]
}

function Why({ error, message, count }: RefusedSend) {
  const tone = error === ErrorReason.TRANSIENT_FAILURE ? 'error' : 'warning'
  return (
    <span className={styles.why}>
      <span className={styles.head}>
        <Pill tone={tone} word={errorWord(error)} />
        {count > 1 && <span className={styles.count}>{countOf(count)} times</span>}
      </span>
      <span>{message}</span>
    </span>
  )
}

function RecipientsCell({ recipients }: { recipients: string[] }) {
  const [first] = recipients
  if (first === undefined) return <span className="faint">Not read</span>
  return (
    <span className={styles.recipients}>
      <EmailAddress email={first} />
      {recipients.length > 1 && <span className={styles.count}>+{recipients.length - 1}</span>}
    </span>
  )
}

const HEAD = ['request_id', 'at', 'status', 'error', 'message', 'from', 'recipients', 'key_id', 'protocol', 'count']

function Export({ input }: { input: ReturnType<typeof refusedSendsRequest> }) {
  return (
    <ExportList
      method={method}
      input={input}
      read={pageOf}
      name="refused-sends"
      head={HEAD}
      linesOf={({ requestId, at, status, error, message, from, recipients, keyId, protocol, count }) => [
        [requestId, at, status, errorCode(error), message, from, recipients.join(', '), keyId, protocol, count],
      ]}
    />
  )
}

import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { useQuery } from '@connectrpc/connect-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import {
  EmailService,
  type ListEmailsResponse,
  type ListedEmail,
  type ListedRecipient,
} from '../../gen/verdict/v1/emails_pb.ts'
import { useAccount } from '../account/account.ts'
import { EmptyState } from '../feedback/empty-state.tsx'
import { Page } from '../frame/page.tsx'
import { type ColumnChoice, ColumnMenu, columnsText, useColumns } from '../lists/column-menu.tsx'
import { useCursorList } from '../lists/cursor-list.ts'
import { FilterBar } from '../lists/filter-bar.tsx'
import { List } from '../lists/list.tsx'
import { type Column, RowLink } from '../lists/rows.tsx'
import { SavedViews } from '../lists/saved-views.tsx'
import { EmailAddress } from '../outside-text/address.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { FirstSend } from '../overview/first-send.tsx'
import { useTimes } from '../range/use-times.ts'
import { REASON_WORDS } from '../status/reasons.ts'
import { ReportPills } from '../status/report-pill.tsx'
import { StatusPill } from '../status/status-pill.tsx'
import { Ago } from '../time/ago.tsx'
import { msOf } from '../time/ms-of.ts'
import { lengthOf } from '../time/times.ts'
import { ExportMessages } from './export-messages.tsx'
import { MESSAGE_FILTERS, type MessageSearch, messagesRequest } from './message-filters.ts'
import styles from './messages.module.css'
import { useShownList } from './neighbours.tsx'
import { differenceOf, shownRecipient } from './shown-recipient.ts'

/** A send is listed when it ends, which may be this long after it was accepted. */
const LONGEST_SEND_MS = 120_000

/** What was sent, newest first. */
export function MessagesPage() {
  const search = useSearch({ from: '/$account/messages' })
  const navigate = useNavigate({ from: '/$account/messages' })
  const input = messagesRequest(useTimes(search))
  const { shown, setStored } = useColumns('messages', COLUMN_CHOICES, search.columns)
  const list = useCursorList({
    method: EmailService.method.listEmails,
    input,
    read: pageOf,
    idOf,
    newer: (rows) => ({ ...input, ...newerThan(rows, input) }),
  })
  const { membership } = useAccount()
  useShownList(membership.accountId, search, list.rows?.map(idOf))
  const change = (next: MessageSearch) =>
    void navigate({ search: (current) => ({ ...current, ...next }), replace: true })
  return (
    <Page
      title="Messages"
      actions={
        <>
          <RefusedSendsLink />
          <ExportMessages filters={input} />
        </>
      }
    >
      <FilterBar filters={MESSAGE_FILTERS} search={search} onChange={change}>
        <ColumnMenu
          choices={COLUMN_CHOICES}
          shown={shown}
          onChange={(next) => {
            setStored(columnsText(next))
            change({ columns: columnsText(next) })
          }}
        />
        <SavedViews
          list="messages"
          search={{ ...search }}
          onOpen={(next) => void navigate({ search: next, replace: true })}
        />
      </FilterBar>
      <List
        list={list}
        label="Messages"
        columns={columnsFor(input, shown)}
        idOf={idOf}
        empty={Object.keys(search).some((name) => name !== 'columns') ? <NoMatch search={search} /> : <NoMessage />}
      />
    </Page>
  )
}

/** What became no message is in its own list. */
function RefusedSendsLink() {
  const { membership } = useAccount()
  return (
    <Link to="/$account/refused-sends" params={{ account: membership.accountId }} className="text-link">
      Refused sends
    </Link>
  )
}

const idOf = (row: ListedEmail) => row.messageId
const pageOf = ({ emails, nextCursor }: ListEmailsResponse) => ({ rows: emails, next: nextCursor })

/** Outcomes never change, so nothing older than the newest row is asked for again. */
function newerThan([newest]: ListedEmail[], { from }: ReturnType<typeof messagesRequest>) {
  if (!newest) return {}
  const since = msOf(newest.createdAt) - LONGEST_SEND_MS
  return { from: timestampFromMs(Math.max(since, from ? timestampMs(from) : 0)), limit: 100 }
}

function columnsFor(filters: ReturnType<typeof messagesRequest>, chosen: readonly string[]): Column<ListedEmail>[] {
  const shown = (row: ListedEmail) => ({ row, recipient: shownRecipient(row, filters) })
  return [
    { head: 'Status', bare: true, cell: (row) => <Status {...shown(row)} /> },
    { head: 'To', bare: true, cell: (row) => <RecipientsCell {...shown(row)} /> },
    { head: 'Subject', bare: true, wide: true, cell: ({ subject }) => <OutsideText text={subject} line /> },
    ...chosen.flatMap((name) => FURTHER_COLUMNS[name] ?? []),
    { head: 'Sent', bare: 'corner', numbers: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
  ]
}

/** The columns that a person may add, by their names in the address. */
const FURTHER_COLUMNS: Record<string, Column<ListedEmail>> = {
  from: { head: 'From', cell: ({ from }) => <OutsideText text={from} line /> },
  tag: { head: 'Tag', cell: ({ tag }) => tag && <OutsideText text={tag} line /> },
  tenant: { head: 'Tenant', cell: ({ tenantId }) => tenantId && <OutsideText text={tenantId} line /> },
  server: { head: 'Server', cell: ({ recipients }) => <Server recipients={recipients} /> },
  time: {
    head: 'Time taken',

    numbers: true,
    cell: ({ createdAt, completedAt }) => lengthOf(msOf(completedAt) - msOf(createdAt)),
  },
}
const COLUMN_CHOICES = Object.entries(FURTHER_COLUMNS).map(([name, { head }]): ColumnChoice => [name, head])

function Server({ recipients }: Pick<ListedEmail, 'recipients'>) {
  const mx = recipients.find(({ mx }) => mx !== undefined)?.mx
  return mx && <OutsideText text={mx} line />
}

interface CellProps {
  row: ListedEmail
  /** The recipient that the row names. */
  recipient: ListedRecipient
}

function Status({ row: { sandbox, feedback }, recipient: { email, status, reason, inDoubt } }: CellProps) {
  const word = reason !== undefined && !inDoubt ? REASON_WORDS[reason] : undefined
  return (
    <span className={styles.status}>
      <StatusPill status={status} inDoubt={inDoubt} />
      {word && <span className={styles.reason}>{word}</span>}
      <ReportPills reports={feedback} recipient={email} />
      {sandbox && <span className={styles.dryRun}>Dry run</span>}
    </span>
  )
}

function RecipientsCell({ row: { messageId, recipients }, recipient: { email } }: CellProps) {
  const { membership } = useAccount()
  const others = differenceOf(recipients) ?? (recipients.length > 1 ? `+${recipients.length - 1}` : undefined)
  return (
    <span className={styles.recipients}>
      <RowLink to="/$account/messages/$message" params={{ account: membership.accountId, message: messageId }}>
        <EmailAddress email={email} />
      </RowLink>
      {others && <span className={styles.others}>{others}</span>}
    </span>
  )
}

function NoMatch({ search }: { search: MessageSearch }) {
  return <EmptyState title="No message matches">{noMatchWords(search)}</EmptyState>
}

function noMatchWords({ tag, subject, columns: _, ...others }: MessageSearch): string {
  const isAlone = Object.keys(others).length === 0
  if (isAlone && tag !== undefined && subject === undefined)
    return 'Searched as a tag. The search box counts what other readings of the same text find.'
  if (isAlone && subject !== undefined && tag === undefined)
    return 'Every word must be in the subject as a whole: order does not find orders.'
  return 'Messages that match all of these filters appear here. Verdict keeps messages for 90 days.'
}

function NoMessage() {
  const { data: setUp } = useQuery(OverviewService.method.getSetUp)
  return (
    <EmptyState title="No message yet" action={<FirstSend domain={setUp?.verifiedDomain} />}>
      Every message that this account sends appears here with what the recipient's server said. Send one to a simulated
      mailbox, which delivers nothing.
    </EmptyState>
  )
}

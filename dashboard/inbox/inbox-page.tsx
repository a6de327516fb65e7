import { useQuery } from '@connectrpc/connect-query'
import { Button, Skeleton, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPaperclip, IconSearch } from '@tabler/icons-react'
import { keepPreviousData } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type InboxEntry, InboxService, type ListInboxResponse } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { EmptyState } from '../feedback/empty-state.tsx'
import { ErrorState } from '../feedback/error-state.tsx'
import { Page } from '../frame/page.tsx'
import { LoadingRows } from '../lists/loading-rows.tsx'
import { type Column, RowLink, Rows } from '../lists/rows.tsx'
import { countOf, sizeOf } from '../numbers/quantities.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { FirstSend } from '../overview/first-send.tsx'
import { Ago } from '../time/ago.tsx'
import { ClearInbox } from './clear-inbox.tsx'
import styles from './inbox.module.css'

/** The page is live while it can be seen. */
const REFRESH_MS = 2_000

/** What the simulator accepted, the newest first. */
export function InboxPage() {
  const { search } = useSearch({ from: '/$account/inbox' })
  const inbox = useQuery(
    InboxService.method.listInbox,
    { search },
    { refetchInterval: REFRESH_MS, placeholderData: keepPreviousData },
  )
  const [clearing, { open, close }] = useDisclosure()
  const mayClear = useMay(Role.MEMBER) && inbox.data !== undefined && inbox.data.total > 0
  const clear = mayClear && (
    <Button variant="default" size="sm" onClick={open}>
      Clear inbox
    </Button>
  )
  return (
    <Page title="Inbox" actions={clear}>
      <p className={`soft ${styles.words}`}>
        Messages to delivered@simulator.test, complaint@simulator.test and late_bounce@simulator.test. The newest 500,
        at most 64 MiB, are kept in memory until the server restarts.
      </p>
      {inbox.error && !inbox.data ? (
        <ErrorState error={inbox.error} retry={() => void inbox.refetch()} />
      ) : !inbox.data ? (
        <>
          <div className={styles.filters}>
            <Skeleton className={styles.search} height={36} />
          </div>
          <LoadingRows columns={COLUMNS} />
        </>
      ) : inbox.data.total === 0 ? (
        <FirstMessage />
      ) : (
        <FoundMessages inbox={inbox.data} search={search ?? ''} />
      )}
      <ClearInbox opened={clearing} total={inbox.data?.total ?? 0} onClose={close} />
    </Page>
  )
}

function FoundMessages({ inbox: { messages, total }, search }: { inbox: ListInboxResponse; search: string }) {
  const navigate = useNavigate({ from: '/$account/inbox' })
  return (
    <>
      <div className={styles.filters}>
        <TextInput
          className={styles.search}
          aria-label="Search the inbox"
          placeholder="Subject, sender or recipient"
          leftSection={<IconSearch size={16} aria-hidden />}
          defaultValue={search}
          onChange={({ currentTarget: { value } }) =>
            void navigate({ search: { search: value || undefined }, replace: true })
          }
          spellCheck={false}
          autoComplete="off"
        />
        <span className="faint" role="status">
          {search ? `${countOf(messages.length)} of ${countOf(total)}` : countOf(total)}{' '}
          {total === 1 ? 'message' : 'messages'}
        </span>
      </div>
      {messages.length === 0 ? (
        <EmptyState title="No message matches">Subject, sender and recipients are searched.</EmptyState>
      ) : (
        <Rows label="Inbox" columns={COLUMNS} rows={messages} idOf={({ inboxId }) => inboxId} />
      )}
    </>
  )
}

const COLUMNS: Column<InboxEntry>[] = [
  { head: 'Subject', bare: true, wide: true, cell: (entry) => <SubjectCell {...entry} /> },
  { head: 'To', bare: true, cell: ({ recipients }) => <RecipientsCell recipients={recipients} /> },
  { head: 'Size', numbers: true, cell: ({ sizeBytes }) => sizeOf(sizeBytes) },
  {
    head: 'Received',
    bare: 'corner',
    numbers: true,
    cell: ({ receivedAt }) => receivedAt && <Ago at={receivedAt} />,
  },
]

function SubjectCell({ inboxId, subject, attachments }: InboxEntry) {
  const { membership } = useAccount()
  return (
    <span className={styles.subject}>
      <RowLink to="/$account/inbox/$message" params={{ account: membership.accountId, message: inboxId }}>
        {subject ? <OutsideText text={subject} line /> : <span className="faint">No subject</span>}
      </RowLink>
      {attachments > 0 && (
        <span className={styles.attachments} title={`${attachments} attached`}>
          <IconPaperclip size={14} aria-label="Attachments:" role="img" />
          {attachments}
        </span>
      )}
    </span>
  )
}

function RecipientsCell({ recipients: [first = '', ...more] }: { recipients: string[] }) {
  return (
    <span className={styles.recipients}>
      <OutsideText text={first} line />
      {more.length > 0 && <span className="faint">and {more.length} more</span>}
    </span>
  )
}

function FirstMessage() {
  const { data: setUp } = useQuery(OverviewService.method.getSetUp)
  return (
    <EmptyState title="No message yet" action={<FirstSend domain={setUp?.verifiedDomain} />}>
      Send a message to delivered@simulator.test with an API key of this account, and it appears here at once.
    </EmptyState>
  )
}

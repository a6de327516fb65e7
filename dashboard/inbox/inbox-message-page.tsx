import { useQuery } from '@connectrpc/connect-query'
import { Tabs } from '@mantine/core'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type GetInboxMessageResponse, InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { useAccount } from '../account/account.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { Page } from '../frame/page.tsx'
import { HtmlFrame } from '../html-frame/html-frame.tsx'
import { sizeOf } from '../numbers/quantities.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { present } from '../present.ts'
import tabStyles from '../tabs/tabs.module.css'
import { Ago } from '../time/ago.tsx'
import styles from './inbox.module.css'
import { InboxMessageSkeleton } from './inbox-message-skeleton.tsx'
import { AttachmentList, DownloadLink, HeaderList } from './message-parts.tsx'

/** One message as its recipient gets it. */
export function InboxMessagePage() {
  const { message: inboxId } = useParams({ from: '/$account/inbox/$message' })
  const message = useQuery(InboxService.method.getInboxMessage, { inboxId }, { staleTime: Number.POSITIVE_INFINITY })
  if (message.data) return <MessageView message={message.data} />
  return (
    <Page title="Message">
      {message.error ? (
        <ErrorState error={message.error} retry={() => void message.refetch()} />
      ) : (
        <InboxMessageSkeleton />
      )}
    </Page>
  )
}

function MessageView({ message }: { message: GetInboxMessageResponse }) {
  const { membership } = useAccount()
  const { subject, from, recipients, receivedAt, sizeBytes, messageId, inboxId } = present(message.entry)
  const path = `/dashboard/frame/inbox/${membership.accountId}/${inboxId}`
  return (
    <Page title="Message" heading={subject ? <OutsideText text={subject} /> : 'No subject'}>
      <dl className={styles.facts}>
        <Fact term="From">
          <OutsideText text={from} addresses />
        </Fact>
        <Fact term="To">
          <OutsideText text={recipients.join(', ')} addresses />
        </Fact>
        <Fact term="Received">{receivedAt && <Ago at={receivedAt} />}</Fact>
        <Fact term="Size">{sizeOf(sizeBytes)}</Fact>
        <Fact term="Verdict">
          <a className="text-link" href={`/dashboard/${membership.accountId}/messages/${messageId}`}>
            What the send returned
          </a>
        </Fact>
      </dl>
      <MessageTabs message={message} path={path} />
    </Page>
  )
}

function Fact({ term, children }: { term: string; children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  )
}

interface PartsProps {
  message: GetInboxMessageResponse
  /** The path of the message's HTML, below which its files are. */
  path: string
}

function MessageTabs({ message, path }: PartsProps) {
  const { tab } = useSearch({ from: '/$account/inbox/$message' })
  const navigate = useNavigate({ from: '/$account/inbox/$message' })
  const tabs = tabsOf({ message, path })
  const shown = tabs.find(({ value }) => value === tab) ?? present(tabs[0])
  return (
    <Tabs
      value={shown.value}
      onChange={(value) => void navigate({ search: { tab: value ?? undefined }, replace: true })}
      keepMounted={false}
      unstyled
      classNames={{ list: tabStyles.tabs, tab: tabStyles.tab }}
    >
      <Tabs.List>
        {tabs.map(({ value, word }) => (
          <Tabs.Tab key={value} value={value}>
            {word}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={shown.value}>{shown.panel}</Tabs.Panel>
    </Tabs>
  )
}

interface Tab {
  /** In the address bar. */
  value: string
  word: string
  panel: ReactNode
}

/** The tabs of what the message has; the first one is open. */
function tabsOf({ message: { hasHtml, text, headers, attachments, source, entry }, path }: PartsProps): Tab[] {
  const tabs: (Tab | false)[] = [
    hasHtml && { value: 'html', word: 'HTML', panel: <HtmlFrame path={path} /> },
    text !== undefined && { value: 'text', word: 'Text', panel: <Text text={text} /> },
    { value: 'headers', word: 'Headers', panel: <HeaderList headers={headers} /> },
    attachments.length > 0 && {
      value: 'attachments',
      word: `Attachments (${attachments.length})`,
      panel: <AttachmentList attachments={attachments} path={path} />,
    },
    {
      value: 'source',
      word: 'Source',
      panel: (
        <>
          <p className={styles.sourceBar}>
            <DownloadLink href={`${path}/source.eml`}>Download as .eml</DownloadLink>
            {present(entry).sizeBytes > source.length && <span className="soft">The first 1 MiB is shown.</span>}
          </p>
          <Text text={source} />
        </>
      ),
    },
  ]
  return tabs.filter((tab) => tab !== false)
}

function Text({ text }: { text: string }) {
  return (
    <div className={styles.text}>
      <OutsideText text={text} mono long />
    </div>
  )
}

import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { Button } from '@mantine/core'
import { IconRepeat } from '@tabler/icons-react'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { type Event, EventService } from '../../gen/verdict/v1/events_pb.ts'
import { useAccount, useMay } from '../account/account.ts'
import { DeliveryViews } from '../attempts/delivery-views.tsx'
import { EmptyState } from '../feedback/empty-state.tsx'
import { Page } from '../frame/page.tsx'
import { useCursorList } from '../lists/cursor-list.ts'
import { FilterBar } from '../lists/filter-bar.tsx'
import { List } from '../lists/list.tsx'
import { type Column, RowLink } from '../lists/rows.tsx'
import { SavedViews } from '../lists/saved-views.tsx'
import { EmailAddress } from '../outside-text/address.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { useTimes } from '../range/use-times.ts'
import { EventPill } from '../status/event-pill.tsx'
import { Pill } from '../status/status-pill.tsx'
import { Ago, Countdown } from '../time/ago.tsx'
import { EndpointState } from './endpoint-state.tsx'
import { EVENT_FILTERS, type EventSearch, eventsRequest } from './event-filters.ts'
import styles from './events.module.css'
import { ExportEvents } from './export-events.tsx'

/** What happened to every email, newest first, and whether the endpoint knows. */
export function EventsPage() {
  const { membership } = useAccount()
  const params = { account: membership.accountId }
  const search = useSearch({ from: '/$account/events' })
  const navigate = useNavigate({ from: '/$account/events' })
  const times = useTimes(search)
  const input = eventsRequest(times)
  const list = useCursorList({
    method: EventService.method.listEvents,
    input,
    read: ({ events, nextCursor }) => ({ rows: events, next: nextCursor }),
    idOf,
  })
  const change = (next: EventSearch) =>
    void navigate({ search: (current: EventSearch) => ({ ...current, ...next }), replace: true })
  const mayReplay = useMay(Role.MEMBER)
  const actions = (
    <>
      <ExportEvents filters={input} />
      {mayReplay && (
        <Button
          variant="default"
          size="sm"
          leftSection={<IconRepeat size={16} aria-hidden />}
          renderRoot={(props) => <Link {...props} to="/$account/events/replay" params={params} search={times} />}
        >
          Replay a range
        </Button>
      )}
    </>
  )
  return (
    <Page title="Events" actions={actions}>
      <EndpointState search={search} hasEvents={(list.rows?.length ?? 0) > 0} />
      <DeliveryViews />
      <FilterBar filters={EVENT_FILTERS} search={search} onChange={change}>
        <SavedViews
          list="events"
          search={{ ...search }}
          onOpen={(next) => void navigate({ search: next, replace: true })}
        />
      </FilterBar>
      <List
        list={list}
        label="Events"
        columns={COLUMNS}
        idOf={idOf}
        empty={
          <EmptyState title={Object.keys(search).length > 0 ? 'No event matches' : 'No event yet'}>
            Every outcome of a send is an event, and so is every late bounce and complaint. They are kept for 90 days.
          </EmptyState>
        }
      />
    </Page>
  )
}

const idOf = ({ eventId }: Event) => eventId

const COLUMNS: Column<Event>[] = [
  { head: 'Status', bare: true, cell: (row) => <OutcomeCell {...row} /> },
  { head: 'Message', bare: true, wide: true, cell: (row) => <MessageCell {...row} /> },
  { head: 'Reply', cell: ({ smtp }) => smtp?.code && <code>{[smtp.code, smtp.enhanced].join(' ')}</code> },
  { head: 'Webhook', cell: (row) => <Webhook {...row} /> },
  { head: 'When', bare: 'corner', numbers: true, cell: ({ timestamp }) => <Ago at={timestamp} /> },
]

function OutcomeCell({ sandbox, ...event }: Event) {
  return (
    <span className={styles.outcome}>
      <EventPill {...event} />
      {sandbox && <span className="faint">Dry run</span>}
    </span>
  )
}

/** The message's page shows the event with its attempts. */
function MessageCell({ eventId, messageId, recipient, subject }: Event) {
  const { membership } = useAccount()
  const params = { account: membership.accountId, message: messageId }
  return (
    <div className={styles.message}>
      <RowLink to="/$account/messages/$message" params={params} search={{ recipient, event: eventId }}>
        <EmailAddress email={recipient} />
      </RowLink>
      {subject && (
        <div className={styles.subject}>
          <OutsideText text={subject} line />
        </div>
      )}
    </div>
  )
}

/** An event waits until no further attempt follows. Then its attempts are over, or they were cancelled. */
function Webhook({ attempts, acknowledgedAt, nextAttemptAt, lastStatusCode, lastDetail }: Event) {
  if (attempts === 0 && !nextAttemptAt) return <span className="faint">Not pushed</span>
  return (
    <span className={styles.outcome}>
      {acknowledgedAt ? (
        <Pill tone="delivered" word="Acknowledged" />
      ) : nextAttemptAt ? (
        <Pill tone="waiting" word={<NextAttemptTime at={nextAttemptAt} isFirst={attempts === 0} />} />
      ) : (
        <Pill tone="error" word="Not acknowledged" />
      )}
      {attempts > 1 && <span className="faint">{attempts} attempts</span>}
      {lastDetail && (
        <span className={styles.fault} title={lastDetail}>
          {lastStatusCode ? `HTTP ${lastStatusCode}` : lastDetail}
        </span>
      )}
    </span>
  )
}

function NextAttemptTime({ at, isFirst }: { at: Timestamp; isFirst: boolean }) {
  return (
    <span>
      {isFirst ? 'First' : 'Next'} attempt <Countdown at={at} passed="now" />
    </span>
  )
}

import {
  type Notification,
  NotificationChannel,
  NotificationService,
} from '../../../gen/verdict/admin/v1/notifications_pb.ts'
import { EmptyState } from '../../feedback/empty-state.tsx'
import { useCursorList } from '../../lists/cursor-list.ts'
import { List } from '../../lists/list.tsx'
import type { Column } from '../../lists/rows.tsx'
import { OutsideText } from '../../outside-text/outside-text.tsx'
import { shownIn } from '../../status/shown-in.ts'
import { Pill } from '../../status/status-pill.tsx'
import { Ago } from '../../time/ago.tsx'
import styles from '../settings.module.css'
import { notificationWords, STATES } from './words.ts'

const idOf = ({ notificationId }: Notification) => notificationId

/** The notifications of the last 90 days. */
export function SentSection() {
  const list = useCursorList({
    method: NotificationService.method.listNotifications,
    input: {},
    read: ({ notifications, nextCursor }) => ({ rows: notifications, next: nextCursor }),
    idOf,
    pollMs: 15_000,
  })
  return (
    <section className={styles.section}>
      <h2>Sent notifications</h2>
      <p className="soft">To the people and the URL of this account, in the last 90 days.</p>
      <List
        list={list}
        label="Notifications"
        columns={COLUMNS}
        idOf={idOf}
        empty={
          <EmptyState title="Nothing was sent yet">
            When one of the troubles above begins or ends, the notifications about it appear here.
          </EmptyState>
        }
      />
    </section>
  )
}

const COLUMNS: Column<Notification>[] = [
  { head: 'When', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { head: 'Notification', wide: true, cell: (notification) => notificationWords(notification) },
  { head: 'To', cell: (notification) => <ReceiverCell {...notification} /> },
  { head: 'Outcome', cell: (notification) => <OutcomeCell {...notification} /> },
]

function ReceiverCell({ channel, personName }: Notification) {
  if (channel === NotificationChannel.URL) return 'Notification URL'
  return personName === undefined ? (
    <span className="faint">A person who left</span>
  ) : (
    <OutsideText text={personName} line />
  )
}

function OutcomeCell({ state, outcome, nextTryAt }: Notification) {
  return (
    <div>
      <Pill {...shownIn(STATES, state)} />
      <div className="faint">
        {outcome}
        {outcome && nextTryAt && (
          <>
            , next try <Ago at={nextTryAt} />
          </>
        )}
      </div>
    </div>
  )
}

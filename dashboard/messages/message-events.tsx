import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconChevronRight } from '@tabler/icons-react'
import { useSearch } from '@tanstack/react-router'
import { useEffect, useId, useReducer, useRef, useState } from 'react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import type { EmailEvent, GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { type Event, EventService } from '../../gen/verdict/v1/events_pb.ts'
import { useMay } from '../account/account.ts'
import { EventTimeline } from '../attempts/event-timeline.tsx'
import { ShortId } from '../copy/short-id.tsx'
import { CallFault, ErrorState } from '../feedback/error-state.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { EmailAddress } from '../outside-text/address.tsx'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { useRefresh } from '../refresh.ts'
import { EventPill } from '../status/event-pill.tsx'
import { FEW } from './folded-recipients.ts'
import styles from './message.module.css'
import { useMessageEvents } from './use-message-events.ts'

/** Up to this number of events are shown with their time lines. Of more events, the reader opens single ones. */
const OPEN_EVENTS = 2

/** The events of a message, and the attempts to deliver each to the endpoint. */
export function MessageEvents({ email: { messageId, events: outcomes } }: { email: GetEmailResponse }) {
  const list = useMessageEvents(messageId)
  const { event: named } = useSearch({ from: '/$account/messages/$message' })
  const events = list.data && inOrder(list.data.events, outcomes)
  const [isUnfolded, unfold] = useReducer(() => true, false)
  const isShown = (event: Event, place: number) => isUnfolded || place < FEW || event.eventId === named
  const shown = events?.filter(isShown) ?? []
  return (
    <section className={styles.section}>
      <div className={styles.sectionHead}>
        <h2>Events and webhook</h2>
        {events && events.length > 1 && <ReplayAll messageId={messageId} total={events.length} />}
      </div>
      {list.error && !events && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {!list.error && !events && <LoadingBlock height={120} />}
      {shown.map((event) => (
        <EventEntry
          key={event.eventId}
          event={event}
          isNamed={event.eventId === named}
          startsOpen={shown.length <= OPEN_EVENTS}
        />
      ))}
      {events && shown.length < events.length && (
        <button type="button" className={styles.unfold} onClick={unfold}>
          Show {events.length - shown.length} more events
        </button>
      )}
    </section>
  )
}

/**
 * Outcomes in the order of the recipients, then reports, the oldest first. When there are many, reports and events that
 * an endpoint has not acknowledged come first.
 */
function inOrder(newestFirst: Event[], outcomes: EmailEvent[]): Event[] {
  const places = new Map(outcomes.map(({ eventId }, place) => [eventId, place]))
  const placeOf = ({ eventId }: Event) => places.get(eventId) ?? places.size
  const events = newestFirst.toReversed().sort((a, b) => placeOf(a) - placeOf(b))
  const isQuiet = ({ acknowledgedAt, feedback }: Event) => acknowledgedAt !== undefined && feedback === undefined
  return events.length <= FEW ? events : events.sort((a, b) => Number(isQuiet(a)) - Number(isQuiet(b)))
}

interface EventEntryProps {
  event: Event
  /** The address of the page names it: it is open, and in view. */
  isNamed: boolean
  startsOpen: boolean
}

function EventEntry({ event, isNamed, startsOpen }: EventEntryProps) {
  const [open, setOpen] = useState(startsOpen || isNamed)
  const element = useRef<HTMLElement>(null)
  const id = useId()
  useEffect(() => {
    if (isNamed) element.current?.scrollIntoView({ block: 'start' })
  }, [isNamed])
  return (
    <article ref={element} className={styles.event} aria-label={`Event of ${event.recipient}`}>
      <div className={styles.eventHead}>
        <button
          type="button"
          className={styles.eventToggle}
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setOpen(!open)}
        >
          <IconChevronRight size={16} className={styles.chevron} aria-hidden />
          <EventPill {...event} />
          <span className={styles.address}>
            <EmailAddress email={event.recipient} wrap />
          </span>
        </button>
        <span className={styles.eventId}>
          <ShortId id={event.eventId} label="event id" />
        </span>
        <ReplayButton eventId={event.eventId} />
      </div>
      {event.detail && event.feedback !== undefined && (
        <p className={styles.report}>
          <OutsideText text={event.detail} mono />
          {event.member && ' Another mailbox failed, such as a member of a list. This address is not held to it.'}
        </p>
      )}
      <div id={id} hidden={!open} className={styles.eventBody}>
        {open && <EventTimeline eventId={event.eventId} />}
      </div>
    </article>
  )
}

function ReplayButton({ eventId }: { eventId: string }) {
  const refresh = useRefresh()
  const replay = useMutation(EventService.method.replayEvent, {
    onSuccess: async () => {
      notifications.show({ message: 'The event is on its way to the endpoint again.' })
      await refresh(EventService.method.getEvent)
    },
  })
  if (!useMay(Role.MEMBER)) return null
  return (
    <>
      <Button variant="default" size="compact-xs" loading={replay.isPending} onClick={() => replay.mutate({ eventId })}>
        Replay
      </Button>
      <CallFault error={replay.error} />
    </>
  )
}

function ReplayAll({ messageId, total }: { messageId: string; total: number }) {
  const refresh = useRefresh()
  const replay = useMutation(EventService.method.replayMessage, {
    onSuccess: async ({ count }) => {
      notifications.show({ message: replayedWords(count, total) })
      await refresh(EventService.method.getEvent)
    },
  })
  if (!useMay(Role.MEMBER)) return null
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        loading={replay.isPending}
        onClick={() => replay.mutate({ messageId })}
      >
        Replay all
      </Button>
      <CallFault error={replay.error} />
    </>
  )
}

/** How many events of a message a replay sends again, and why not all. */
function replayedWords(count: number, total: number): string {
  if (count === 0) return 'The endpoint asks for none of these events. Its kinds are under Settings, Webhook.'
  const sent = `${count} ${count === 1 ? 'event is' : 'events are'} on the way to the endpoint again.`
  if (count >= total) return sent
  return `${sent} It does not ask for the other ${total - count === 1 ? 'one' : total - count}: see Settings, Webhook.`
}

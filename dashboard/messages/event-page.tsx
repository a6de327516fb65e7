import { useQuery } from '@connectrpc/connect-query'
import { Navigate, useParams } from '@tanstack/react-router'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { Page } from '../frame/page.tsx'
import { MessageSkeleton } from './message-skeleton.tsx'

/** The address of an event: it leads to the page of its message, with the event open. */
export function EventPage() {
  const { account, event: eventId } = useParams({ from: '/$account/events/$event' })
  const event = useQuery(EventService.method.getEvent, { eventId })
  if (event.data) {
    const { messageId, recipient } = event.data
    const params = { account, message: messageId }
    return <Navigate to="/$account/messages/$message" params={params} search={{ recipient, event: eventId }} replace />
  }
  return (
    <Page title="Event">
      {event.error ? <ErrorState error={event.error} retry={() => void event.refetch()} /> : <MessageSkeleton />}
    </Page>
  )
}

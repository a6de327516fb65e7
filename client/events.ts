import type { Call, CallOptions } from './call.ts'
import type { ListEventsQuery } from './gen/contract.ts'
import { itemsOf } from './pages.ts'

export function eventsOf(call: Call) {
  const list = (query: ListEventsQuery = {}, options?: CallOptions) => call('listEvents', { query }, options)
  return {
    /** Returns one page of events, newest first. */
    list,

    /** Yields all events that match, newest first. `limit` is the size of the pages it reads. */
    all: (query: Omit<ListEventsQuery, 'cursor'> = {}, options?: CallOptions) =>
      itemsOf(
        (cursor) => list({ ...query, cursor }, options),
        ({ events }) => events,
      ),

    /** Returns one event with every attempt to deliver it to your endpoint. */
    get: (eventId: string, options?: CallOptions) => call('getEvent', { path: { event_id: eventId } }, options),

    /** Sends a stored event to your endpoint again. It sends no email. */
    replay: (eventId: string, options?: CallOptions) => call('replayEvent', { path: { event_id: eventId } }, options),
  }
}

export const messagesOf = (call: Call) => ({
  /** Sends all stored events of a message to your endpoint again. It sends no email. */
  replay: (messageId: string, options?: CallOptions) =>
    call('replayMessage', { path: { message_id: messageId } }, options),
})

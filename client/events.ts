import type { Call, CallOptions } from './call.ts'
import type { ListChangesQuery, ListEventsQuery } from './gen/contract.ts'
import { itemsOf } from './pages.ts'
import { type StreamOptions, streamOf } from './stream.ts'

export interface ReplayOptions extends CallOptions {
  /** `whk_...`: the only endpoint to send to, also when it does not ask for the events or is disabled. */
  endpointId?: string
}

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

    /**
     * Yields events as they are committed, each once, oldest first. Store `position` of an event when you have handled
     * it, and pass it as `after` to resume. The stream reads on after outages, and ends with your signal.
     */
    stream: (query: Omit<ListChangesQuery, 'wait_s'> = {}, options?: StreamOptions) => streamOf(call, query, options),

    /** Returns one event with every attempt to push it to your endpoints. */
    get: (eventId: string, options?: CallOptions) => call('getEvent', { path: { event_id: eventId } }, options),

    /** Sends a stored event to your endpoints again, or to one of them. It sends no email. */
    replay: (eventId: string, { endpointId, ...options }: ReplayOptions = {}) =>
      call('replayEvent', { path: { event_id: eventId }, body: { endpoint_id: endpointId } }, options),
  }
}

export const messagesOf = (call: Call) => ({
  /** Sends the stored events of a message to your endpoints again, or to one of them. It sends no email. */
  replay: (messageId: string, { endpointId, ...options }: ReplayOptions = {}) =>
    call('replayMessage', { path: { message_id: messageId }, body: { endpoint_id: endpointId } }, options),
})

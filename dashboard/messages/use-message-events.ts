import { useQuery } from '@connectrpc/connect-query'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'

/** Reports and acknowledgements arrive later: the list is loaded again this often. */
const REFRESH_MS = 10_000
/** A message has an event for each of its 50 recipients, and reports. */
const MOST_EVENTS = 100

/** The events of a message, the newest first. */
export const useMessageEvents = (messageId: string) =>
  useQuery(EventService.method.listEvents, { messageId, limit: MOST_EVENTS }, { refetchInterval: REFRESH_MS })

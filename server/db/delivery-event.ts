import type { events } from './schema.ts'

type EventRow = typeof events.$inferSelect

/** An event as its row has it: ids are UUIDs, status and reason their short names. */
export interface DeliveryEvent
  extends Pick<EventRow, 'id' | 'messageId' | 'accountId' | 'status' | 'reason' | 'recipient' | 'sandbox'> {
  /** Unix milliseconds. */
  createdAtMs: number
}

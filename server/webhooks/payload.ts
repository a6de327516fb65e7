import type { DeliveryEvent } from '../db/delivery-event.ts'
import { showId } from '../db/ids.ts'

/**
 * The body of an event's POSTs. The event's row never changes, so these bytes are the same on every attempt and every
 * replay. The output of this function must never change either. A new field needs a new version, stored beside the
 * event.
 */
export function payloadOf(event: DeliveryEvent): Buffer {
  return Buffer.from(
    JSON.stringify({
      event: 'email.delivery',
      message_id: showId('msg', event.messageId),
      status: event.status,
      reason: event.reason ?? undefined,
      timestamp: Math.floor(event.createdAtMs / 1_000),
      event_id: showId('evt', event.id),
      recipient: event.recipient,
      sandbox: event.sandbox || undefined,
    }),
  )
}

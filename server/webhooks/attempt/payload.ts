import type { DeliveryEvent, FeedbackEvent, StoredEvent } from '../../db/delivery-event.ts'
import { publicId } from '../../db/ids.ts'

/**
 * The body of an event's POSTs. The event's rows never change, so these bytes are the same on every attempt and every
 * replay. The output of this function must never change either: a new field needs a new version, which is stored with
 * the event.
 */
export function payloadOf(event: StoredEvent): Buffer {
  return Buffer.from(JSON.stringify(fieldsOf(event)))
}

function fieldsOf(event: StoredEvent): object {
  switch (event.event) {
    case 'email.delivery':
      return deliveryFields(event)
    case 'email.feedback':
      return feedbackFields(event)
    default:
      throw new Error(`no payload for events of the kind ${(event satisfies never as StoredEvent).event}`)
  }
}

function deliveryFields(event: DeliveryEvent): object {
  const fields = { ...commonFields(event), sandbox: event.sandbox || undefined }
  if (event.payload === 1) return fields
  return {
    ...fields,
    smtp: event.smtp ?? undefined,
    in_doubt: event.inDoubt || undefined,
    retryable: event.retryable || undefined,
    detail: event.detail ?? undefined,
    ...senderFields(event),
  }
}

function feedbackFields(event: FeedbackEvent): object {
  const { feedback, detail, smtp, isMember } = event
  return {
    ...commonFields(event),
    feedback,
    detail: detail ?? undefined,
    smtp: smtp ?? undefined,
    member: isMember || undefined,
    ...senderFields(event),
  }
}

const commonFields = ({ event, id, messageId, status, reason, createdAtMs, recipient }: StoredEvent) => ({
  event,
  message_id: publicId('msg', messageId),
  status,
  reason: reason ?? undefined,
  timestamp: Math.floor(createdAtMs / 1_000),
  event_id: publicId('evt', id),
  recipient,
})

/** What the sender gave with the send. */
function senderFields({ tag, metadata, tenantId }: StoredEvent) {
  const hasMetadata = metadata !== null && Object.keys(metadata).length > 0
  return { tag: tag ?? undefined, metadata: hasMetadata ? metadata : undefined, tenant_id: tenantId ?? undefined }
}

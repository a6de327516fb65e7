import { expect, test } from 'vitest'
import type { DeliveryEvent } from '../../server/db/delivery-event.ts'
import { payloadOf } from '../../server/webhooks/payload.ts'

const event: DeliveryEvent = {
  id: '01a1fdad-841e-72ac-928b-11eba8284d67',
  messageId: '01a1fdad-841e-7299-badc-c323dde4a288',
  accountId: '01a1fdad-841e-72dd-baea-c02b7820cbac',
  status: 'delivered',
  reason: null,
  recipient: 'ann@example.net',
  sandbox: false,
  createdAtMs: 1_795_257_600_999,
}

// These bytes are signed, and posted again for 90 days. They may never change.
test.each([
  [
    {},
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net"}',
  ],
  [
    { status: 'bounced', reason: 'mailbox_full', recipient: 'jö"@exämple.net' },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"bounced","reason":"mailbox_full","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"jö\\"@exämple.net"}',
  ],
  [
    { sandbox: true },
    '{"event":"email.delivery","message_id":"msg_01m7ytv10yeacvnq634fey98m8","status":"delivered","timestamp":1795257600,"event_id":"evt_01m7ytv10yeap952rhxem2gkb7","recipient":"ann@example.net","sandbox":true}',
  ],
])('the payload of an event is these bytes, for ever: %j', (change, bytes) => {
  expect(payloadOf({ ...event, ...change }).toString()).toBe(bytes)
})

import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { DkimKeyState, DomainSchema, DomainStatus, RecordStatus } from '../../gen/verdict/v1/domains_pb.ts'
import { GetEmailResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { AttemptOutcome, DispatchKind, DispatchState } from '../../gen/verdict/v1/events_pb.ts'
import {
  DeliveryStatus,
  RecipientKind,
  SmtpPhase,
  SuppressionReason,
  SuppressionScope,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { SendingState } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionEntrySchema } from '../../gen/verdict/v1/suppression_pb.ts'
import { EndpointSchema, WebhookSchema } from '../../gen/verdict/v1/webhooks_pb.ts'

// The resources that the services in memory answer with.

export const MESSAGE_ID = 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5'
export const EVENT_ID = 'evt_01jx3c7w9kfxr8bq6v2m4n5p7t'

export const delivered = () => ({
  status: DeliveryStatus.DELIVERED,
  messageId: MESSAGE_ID,
  smtp: { mx: 'mx.example.test', code: 250, phase: SmtpPhase.DOT, durationMs: 12 },
})

export const storedEmail = () =>
  create(GetEmailResponseSchema, {
    messageId: MESSAGE_ID,
    status: DeliveryStatus.DELIVERED,
    from: 'shop@example.test',
    to: ['ada@recipient.test'],
    subject: 'Hello',
    createdAt: timestampFromMs(Date.UTC(2026, 0, 31, 12)),
    completedAt: timestampFromMs(Date.UTC(2026, 0, 31, 12, 0, 0, 5)),
    expiresAt: timestampFromMs(Date.UTC(2026, 4, 1, 12)),
  })

export const NOON = timestampFromMs(Date.UTC(2026, 0, 31, 12))

export const storedEvent = (eventId: string) => ({
  eventId,
  messageId: MESSAGE_ID,
  status: DeliveryStatus.DELIVERED,
  timestamp: NOON,
  recipient: 'ada@recipient.test',
  attempts: 1,
  event: 'email.delivery',
  kind: RecipientKind.TO,
})

export const dispatch = () => ({
  dispatchId: 'dsp_01jx3c7w9kfxr8bq6v2m4n5p7t',
  kind: DispatchKind.ORIGINAL,
  state: DispatchState.WAITING,
  createdAt: NOON,
  nextAttemptAt: NOON,
  attempts: [{ number: 1, startedAt: NOON, finishedAt: NOON, outcome: AttemptOutcome.DNS, durationMs: 3, phases: {} }],
})

export const replayed = (eventId: string) => ({
  replayed: true,
  eventId,
  messageId: MESSAGE_ID,
  dispatchedAt: NOON,
  dispatchId: 'dsp_01jx8r3k5me2x9c4v7b1n6q0wz',
})

export const tested = () => ({
  eventId: EVENT_ID,
  dispatchedAt: NOON,
  outcome: AttemptOutcome.ACKED,
  statusCode: 200,
  durationMs: 12,
  phases: { connectMs: 1, headMs: 11 },
})

export const endpoint = () => {
  const { $typeName: _, ...fields } = webhook()
  return create(EndpointSchema, { ...fields, endpointId: ENDPOINT_ID, first: true })
}

const ENDPOINT_ID = 'whk_01jxc3d2gwf95srb9y9xd6pz4d'

export const webhook = () =>
  create(WebhookSchema, {
    url: 'https://shop.test/webhooks',
    createdAt: NOON,
    updatedAt: NOON,
    health: { acknowledged: 3, failed: 1, successRate: 0.75, lastSuccessAt: NOON },
    events: ['email.delivery'],
    statuses: [DeliveryStatus.DELIVERED],
  })

export const domain = () =>
  create(DomainSchema, {
    domainId: 'dom_01jx3c7w2m8k4n6p9q1r5s7t3v',
    domain: 'example.test',
    status: DomainStatus.PENDING,
    records: [
      {
        record: 'DMARC',
        type: 'TXT',
        host: '_dmarc.example.test',
        value: 'v=DMARC1; p=none',
        required: true,
        status: RecordStatus.FAILED,
        error: 'There is no such record.',
        lastCheckedAt: NOON,
      },
    ],
    dkim: {
      selector: 's1',
      keyBits: 2048,
      keys: [{ selector: 's1', state: DkimKeyState.ACTIVE, keyBits: 2048, createdAt: NOON }],
    },
    sending: SendingState.ACTIVE,
    createdAt: NOON,
  })

export const suppressed = () =>
  create(SuppressionEntrySchema, {
    email: 'ada@recipient.test',
    scope: SuppressionScope.TENANT,
    tenantId: 'tenant_1',
    reason: SuppressionReason.BOUNCE,
    createdAt: timestampFromMs(Date.UTC(2026, 0, 31, 12)),
  })

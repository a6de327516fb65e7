import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { createServiceImplSpec, type HandlerContext, type ServiceImplSpec } from '@connectrpc/connect'
import { RECEIPT } from '../../dev/openapi/receipt-example.ts'
import { AccountService, KeyMode } from '../../gen/verdict/v1/account_pb.ts'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { EmailService, type SendRequest, type SendResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { ErrorReason } from '../../gen/verdict/v1/errors_pb.ts'
import {
  EventService,
  type ListEventsRequest,
  type ListEventsResponseSchema,
  type StreamEventsRequest,
  type StreamEventsResponseSchema,
} from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { ReceiptService } from '../../gen/verdict/v1/receipts_pb.ts'
import { Granularity, SendingState, StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { itemFaultsKey } from '../../server/caller.ts'
import { fail } from '../../server/errors.ts'
import {
  delivered,
  dispatch,
  domain,
  EVENT_ID,
  endpoint,
  MESSAGE_ID,
  NOON,
  replayed,
  storedEmail,
  storedEvent,
  suppressed,
  tested,
  webhook,
} from './resources.ts'

// The services of a gateway, in memory: its tests are not about them.

export const RATE = { limit: 600, remaining: 588, resetAt: 1_769_860_860 }

export interface ServiceParts {
  send?(request: SendRequest, context: HandlerContext): Promise<MessageInitShape<typeof SendResponseSchema>>
  listEvents?(request: ListEventsRequest): Promise<MessageInitShape<typeof ListEventsResponseSchema>>
  streamEvents?(
    request: StreamEventsRequest,
    context: HandlerContext,
  ): AsyncIterable<MessageInitShape<typeof StreamEventsResponseSchema>>
}

/** The services; every send is pushed to `sent`. */
export function createMemoryServices(parts: ServiceParts, sent: SendRequest[]): ServiceImplSpec[] {
  return [
    createServiceImplSpec<typeof EmailService>(EmailService, {
      async send(request, context) {
        sent.push(request)
        return (await parts.send?.(request, context)) ?? delivered()
      },
      async validate() {
        return { ...delivered(), sandbox: true }
      },
      async sendBatch({ emails }, { values }) {
        const faults = values.get(itemFaultsKey)
        const results = emails.map((_, index) =>
          faults.has(index)
            ? { index, error: ErrorReason.INVALID_PAYLOAD, message: 'faulty', details: faults.get(index) }
            : { ...delivered(), index },
        )
        const [total, failed] = [emails.length, faults.size]
        return { results, summary: { total, delivered: total - failed, failed } }
      },
      listEmails: () => ({}),
      listRefusedSends: () => ({}),
      async getEmail({ id }) {
        if (id !== MESSAGE_ID) throw fail('not_found', 'There is no such email.')
        return storedEmail()
      },
    }),
    createServiceImplSpec<typeof ReceiptService>(ReceiptService, {
      getReceipt: async () => ({ receipt: RECEIPT }),
    }),
    createServiceImplSpec<typeof EventService>(EventService, {
      async listEvents(request) {
        return (await parts.listEvents?.(request)) ?? {}
      },
      async *streamEvents(request, context) {
        yield* parts.streamEvents?.(request, context) ?? []
      },
      async getEvent({ eventId }) {
        if (eventId !== EVENT_ID) throw fail('not_found', 'There is no such event.')
        return { ...storedEvent(eventId), dispatches: [dispatch()] }
      },
      listChanges: async () => {
        return { events: [{ event: storedEvent(EVENT_ID), position: 'x' }], position: 'x', hasMore: false }
      },
      replayEvent: async ({ eventId }) => replayed(eventId),
      replayMessage: async ({ messageId }) => ({
        replayed: true,
        messageId,
        count: 1,
        events: [replayed(EVENT_ID)],
      }),
    }),
    createServiceImplSpec<typeof WebhookService>(WebhookService, {
      listEndpoints: async () => ({ endpoints: [endpoint()] }),
      createEndpoint: async ({ url }) => ({ ...endpoint(), url, secret: 'whsec_c2VjcmV0' }),
      getEndpoint: async () => endpoint(),
      updateEndpoint: async () => endpoint(),
      deleteEndpoint: async () => ({}),
      testEndpoint: async () => tested(),
      rotateEndpointSecret: async () => ({ ...endpoint(), secret: 'whsec_c2VjcmV0', previousSecretUntil: NOON }),
      getWebhook: async () => webhook(),
      putWebhook: async ({ url }) => ({ ...webhook(), url, secret: 'whsec_c2VjcmV0' }),
      deleteWebhook: async () => ({}),
      testWebhook: async () => tested(),
      rotateSecret: async () => ({ ...webhook(), secret: 'whsec_c2VjcmV0', previousSecretUntil: NOON }),
    }),
    createServiceImplSpec<typeof DomainService>(DomainService, {
      listDomains: async () => ({ domains: [domain()] }),
      createDomain: async ({ domain: name }) => ({ ...domain(), domain: name }),
      getDomain: async ({ id }) => ({ ...domain(), domainId: id }),
      updateDomain: async ({ id, requireTls }) => ({ ...domain(), domainId: id, requireTls: requireTls ?? false }),
      deleteDomain: async () => ({}),
      verifyDomain: async ({ id }) => ({ ...domain(), domainId: id }),
      rotateDkim: async ({ id }) => ({ ...domain(), domainId: id }),
    }),
    createServiceImplSpec<typeof StatsService>(StatsService, {
      getStats: async () => ({
        from: timestampFromMs(Date.UTC(2026, 0, 31)),
        to: timestampFromMs(Date.UTC(2026, 1, 1)),
        granularity: Granularity.TOTAL,
        totals: {},
        reasons: { mailbox_full: 0 },
        latencyMs: { p50: 412 },
        series: [{ period: timestampFromMs(Date.UTC(2026, 0, 31)) }],
        domains: [{ domain: 'example.test', sending: SendingState.ACTIVE }],
      }),
    }),
    createServiceImplSpec<typeof SuppressionService>(SuppressionService, {
      import: async ({ emails: [email] }) => ({
        imported: 2,
        invalid: 1,
        total: 3,
        errors: [{ index: 0, email, error: 'invalid_address' }],
      }),
      undoImport: async () => ({ removed: 1 }),
      list: async () => ({ entries: [suppressed()] }),
      add: async () => suppressed(),
      remove: async () => ({}),
      lift: async () => ({ lifted: 1, entries: [suppressed()] }),
    }),
    createServiceImplSpec<typeof LimitsService>(LimitsService, {
      getLimits: async () => ({
        tier: 'pro',
        requestsPerMinute: RATE.limit,
        sizes: {},
        counts: {},
        domains: [{ domain: 'example.test', sentToday: 7 }],
      }),
    }),
    createServiceImplSpec<typeof AccountService>(AccountService, {
      getAccount: async () => ({ name: 'Example Shop', mode: KeyMode.LIVE, tier: 'pro' }),
    }),
  ]
}

import { createServiceImplSpec } from '@connectrpc/connect'
import { AccountService } from '../gen/verdict/v1/account_pb.ts'
import { DomainService } from '../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../gen/verdict/v1/limits_pb.ts'
import { ReceiptService } from '../gen/verdict/v1/receipts_pb.ts'
import { StatsService } from '../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../gen/verdict/v1/webhooks_pb.ts'
import { FairTurns } from '../net/fair-turns.ts'
import { createHeavyCallLimit } from './access/heavy-calls.ts'
import { createIdentify } from './access/identify.ts'
import { createKeyGate } from './access/key-gate.ts'
import { createOpenCalls } from './access/open-calls.ts'
import { createPeople } from './access/people/people.ts'
import { RESUME_DOMAIN } from './admin/domains.ts'
import { createFrames, framePaths } from './admin/frames.ts'
import { createInboxMessages } from './admin/inbox-messages.ts'
import type { PeopleServiceParts } from './admin/people.ts'
import { createAdminServices } from './admin/services.ts'
import { leaseOf } from './config/limits.ts'
import type { Verifier } from './domains/dns-verifier.ts'
import { createSenderDomains } from './domains/sender.ts'
import { createDomainVerification } from './domains/verification.ts'
import { type App, type AppParts, createApp } from './http/app.ts'
import { createAddressHash } from './process/log.ts'
import { KEY_SET_SECONDS } from './receipts/receipt-keys.ts'
import { createReceiptSigner } from './receipts/signer.ts'
import { createBatch } from './sending/batch.ts'
import { createBatchIdempotency } from './sending/batch-idempotency.ts'
import { createIdempotency } from './sending/idempotency.ts'
import { RefusedSends } from './sending/refused-sends.ts'
import type { Send } from './sending/send.ts'
import { createKeyAccountService } from './services/account.ts'
import type { Backend } from './services/backend.ts'
import { createDomainService } from './services/domains.ts'
import { createEmailService } from './services/emails/emails.ts'
import { noteParties, noteRefusedCall } from './services/emails/refused-calls.ts'
import { createEndpointService } from './services/endpoints.ts'
import { EventChanges } from './services/events/event-changes.ts'
import { streamedEvents } from './services/events/event-fields.ts'
import { createEventService } from './services/events/events.ts'
import { createLimitsService } from './services/limits.ts'
import { createReceiptService } from './services/receipts.ts'
import { createStatsService } from './services/stats.ts'
import { createSuppressionService } from './services/suppression.ts'
import type { Inbox } from './simulator/inbox.ts'
import { createDoor } from './smtp-front/door.ts'
import { createSubmit } from './smtp-front/submit.ts'
import { EventReads } from './stream/read-events.ts'
import { createRightWatch } from './stream/rights.ts'
import { StreamLeases } from './stream/stream-leases.ts'
import { EventStreams } from './stream/streams.ts'
import { NO_TRACING } from './telemetry/tracing.ts'
import type { createPost } from './webhooks/post/post.ts'
import { createReplay } from './webhooks/replays/replay.ts'

export interface ApiParts extends Backend, Pick<AppParts, 'log' | 'checks' | 'trustProxy' | 'onEnd'> {
  sendBudgetMs: number
  send: Send
  /** What the simulator accepted; undefined unless SIMULATOR_INBOX is true. */
  inbox?: Inbox
  verifier: Verifier
  webhooks: Pick<ReturnType<typeof createPost>, 'post' | 'urls'>
  /** Called with each request that was counted against its account's limit. */
  onCount?(admitted: boolean): void
  /** Called with each invitation that a person makes. */
  onInvitation?: PeopleServiceParts['onInvitation']
  /** Called with the class of each reply to a message that came over SMTP. */
  onSmtpReply?: Parameters<typeof createDoor>[0]['onReply']
  /** Where this server listens; called once it does. */
  listenerUrl(): string
  /** Hosts under which the dashboard is served beside those of the URLs: `name` for all ports, or `name:port`. */
  allowedHosts?: readonly string[]
  /** How people sign in by OpenID Connect; undefined without it. */
  oidc?: Parameters<typeof createPeople>[0]['oidc']
}

export interface Api {
  app: App
  /** What a listener for SMTP asks. */
  smtpDoor: ReturnType<typeof createDoor>
  /** Waits for sends and batches with idempotency keys whose callers have left, and stores the refused sends. */
  idle(): Promise<void>
}

/** Creates the API: its services, the gate before them, and the app that serves both over HTTP. */
export async function createApi(parts: ApiParts): Promise<Api> {
  const { db, clock, sealer, log, limits, send, sendBudgetMs, webhooks, workflows, tracing = NO_TRACING } = parts
  const sendLeaseMs = leaseOf(sendBudgetMs)
  const idempotency = createIdempotency(db, sendLeaseMs)
  const batchIdempotency = createBatchIdempotency(db, sendLeaseMs)
  const stopping = new AbortController()
  const hostOf = (url: string) => new URL(url).hostname
  const turns = new FairTurns()
  const sendBatch = createBatch({ send, idempotency, turns, stopping: stopping.signal })
  const [logKey] = sealer.deriveKeys('log')
  const hashAddress = createAddressHash(logKey)
  const identify = createIdentify({ db, clock, turns })
  const gate = createKeyGate({ db, clock, limits, identify, turns, onCount: parts.onCount })
  const { verifyNow } = createDomainVerification(parts)
  const warn = (message: string) => (err: unknown) => log.warn({ err }, message)
  const reportReplay = warn('a replay could not be started')
  const replay = createReplay({ db, clock, workflows, tracing, report: reportReplay })
  const signer = createReceiptSigner({ db, clock, sealer })
  const inbox = parts.inbox && createInboxMessages({ db, inbox: parts.inbox })
  const people = createPeople({ ...parts, turns })

  const senderDomains = createSenderDomains({ db, sealer })
  const refusedSends = new RefusedSends(parts, warn('refused sends were not stored'))
  const emails = createEmailService({
    ...parts,
    senderDomains,
    idempotency,
    sendBatch,
    batchIdempotency,
    refusedSends,
    hashAddress,
  })
  const { changes, stopStreams } = createChanges(parts)
  const events = createEventService({ ...parts, replay, changes })
  const webhook = createEndpointService({
    ...parts,
    post: webhooks.post,
    faultOf: webhooks.urls.faultOf,
    report: warn('a workflow could not be cancelled: it ends at its next attempt'),
  })
  const receipts = createReceiptService({ ...parts, signer })
  const domains = createDomainService({ ...parts, verifyNow })

  const app = await createApp({
    ...parts,
    ownHosts: () => [hostOf(parts.publicUrl()), hostOf(parts.listenerUrl()), ...(parts.allowedHosts ?? [])],
    keySet: { read: signer.keySet, maxAgeSeconds: KEY_SET_SECONDS },
    services: [
      createServiceImplSpec<typeof EmailService>(EmailService, emails),
      createServiceImplSpec<typeof ReceiptService>(ReceiptService, receipts),
      createServiceImplSpec<typeof EventService>(EventService, events),
      createServiceImplSpec<typeof WebhookService>(WebhookService, webhook),
      createServiceImplSpec<typeof DomainService>(DomainService, domains),
      createServiceImplSpec<typeof StatsService>(StatsService, createStatsService(parts)),
      createServiceImplSpec<typeof SuppressionService>(SuppressionService, createSuppressionService(parts)),
      createServiceImplSpec<typeof LimitsService>(LimitsService, createLimitsService(parts)),
      createServiceImplSpec<typeof AccountService>(AccountService, createKeyAccountService(parts)),
    ],
    peopleOnly: [RESUME_DOMAIN],
    interceptors: [createHeavyCallLimit()],
    gate,
    turns,
    onRefused: noteParties,
    onError: (call) => noteRefusedCall(refusedSends, call),
    dashboard: {
      ...people,
      ...createAdminServices({ ...parts, ...people, inbox, report: reportReplay }),
      frames: framePaths(createFrames({ db, inbox })),
    },
    openCalls: createOpenCalls(),
    limits: { budgetWaitMs: sendBudgetMs },
  })
  app.draining.addEventListener('abort', () => stopping.abort())
  app.leaving.addEventListener('abort', stopStreams)
  const submit = createSubmit({ db, send, senderDomains, leaseMs: sendLeaseMs })
  return {
    app,
    smtpDoor: createDoor({
      identify,
      gate,
      turns,
      submit,
      refusedSends,
      log,
      hashAddress,
      onReply: parts.onSmtpReply,
    }),
    async idle() {
      await Promise.all([idempotency.idle(), batchIdempotency.idle()])
      await refusedSends.stop()
    },
  }
}

/** The event stream: its reader, its places and its rights. */
function createChanges({ db, clock, sealer, log }: ApiParts) {
  const streams = new EventStreams({
    reads: new EventReads(db, clock),
    clock,
    sealer,
    show: (accountId, rows) => streamedEvents(db, accountId, rows),
    report: (err) => log.warn({ err }, 'event streams have ended: their reader failed'),
  })
  const leases = new StreamLeases(db, (err) => log.warn({ err }, 'stream leases could not be stored'))
  const rights = createRightWatch()
  const stopStreams = () => {
    streams.stop()
    rights.stop()
    void leases.stop()
  }
  return { changes: new EventChanges({ streams, leases, rights }), stopStreams }
}

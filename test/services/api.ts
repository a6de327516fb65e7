import { createServiceImplSpec } from '@connectrpc/connect'
import { pino } from 'pino'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { createAccount } from '../../server/access/accounts.ts'
import { createGate } from '../../server/access/gate.ts'
import { createKey } from '../../server/access/keys.ts'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'
import { matchingFormOf } from '../../server/address.ts'
import { DEFAULT_LIMITS, type Limits, leaseOf } from '../../server/config/limits.ts'
import { createResolver } from '../../server/dns/resolver.ts'
import type { Domain } from '../../server/domains/domains.ts'
import { createVerification } from '../../server/domains/verification.ts'
import type { Findings } from '../../server/domains/verify.ts'
import { lookupWith } from '../../server/egress/lookup.ts'
import { createApp } from '../../server/http/app.ts'
import { listen } from '../../server/http/listen.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { createBatch } from '../../server/sending/batch.ts'
import { createBatchKeys } from '../../server/sending/batch-keys.ts'
import { createIdempotency } from '../../server/sending/idempotency.ts'
import { domainService } from '../../server/services/domains.ts'
import { emailService } from '../../server/services/emails.ts'
import { eventService } from '../../server/services/events.ts'
import { limitsService } from '../../server/services/limits.ts'
import { createReplay } from '../../server/services/replay.ts'
import { statsService } from '../../server/services/stats.ts'
import { suppressionService } from '../../server/services/suppression.ts'
import { webhookService } from '../../server/services/webhooks.ts'
import { createDeliveries } from '../../server/webhooks/deliver-once.ts'
import { createPost } from '../../server/webhooks/post.ts'
import type { Group, Workflows } from '../../server/webhooks/workflows.ts'
import { startWorld } from '../sending/world.ts'

export type Api = Awaited<ReturnType<typeof startApi>>

/** The whole API over a world of its own, with the keys of two accounts. */
export async function startApi(now?: () => number, limits: Limits = DEFAULT_LIMITS) {
  const world = await startWorld()
  const { db } = world
  const clock = now ? { ...world.clock, now } : world.clock
  const sendMail = world.sendWith({ storeContent: true })
  const idempotency = createIdempotency(db, leaseOf(30_000))
  const stopping = new AbortController()
  const workflows = recordedWorkflows()
  const errors: unknown[] = []
  const report = (error: unknown) => void errors.push(error)
  const poster = createPost({
    allowSubnets: ['127.0.0.0/8'],
    lookup: lookupWith(createResolver({ servers: [world.dns.address] })),
  })
  const breaker = createBreaker({ db, thresholds: DEFAULT_LIMITS.breaker })
  const dns = recordedDns()
  const verification = createVerification({ db, clock: world.clock, hosts: HOSTS, verifier: dns })
  const app = await createApp({
    services: [
      createServiceImplSpec<typeof EmailService>(
        EmailService,
        emailService({
          db,
          clock,
          send: sendMail,
          idempotency,
          sendBatch: createBatch({ send: sendMail, idempotency, stopping: stopping.signal }),
          batchKeys: createBatchKeys(db, leaseOf(30_000)),
          hashAddress: () => '0',
        }),
      ),
      createServiceImplSpec<typeof EventService>(
        EventService,
        eventService({
          db,
          clock,
          matchingForm: matchingFormOf,
          replay: createReplay({ db, clock, workflows, report }),
          workflowUrl: (id) => `http://temporal.test/workflows/${id}`,
        }),
      ),
      createServiceImplSpec<typeof WebhookService>(
        WebhookService,
        webhookService({
          db,
          clock,
          sealer: world.sealer,
          post: poster.post,
          faultOf: poster.urls.faultOf,
          workflows,
          report,
        }),
      ),
      createServiceImplSpec<typeof DomainService>(
        DomainService,
        domainService({
          db,
          clock,
          sealer: world.sealer,
          hosts: HOSTS,
          breaker,
          warmUpSteps: limits.warmUp,
          verifyNow: verification.verifyNow,
        }),
      ),
      createServiceImplSpec<typeof StatsService>(StatsService, statsService({ db, clock, breaker })),
      createServiceImplSpec<typeof SuppressionService>(
        SuppressionService,
        suppressionService({ db, clock, matchingForm: matchingFormOf }),
      ),
      createServiceImplSpec<typeof LimitsService>(LimitsService, limitsService({ db, limits })),
    ],
    gate: createGate({ db, clock: world.clock, limits }),
    openCalls: createOpenCalls(),
    log: pino({ level: process.env.TEST_LOG ?? 'silent' }),
    checks: async () => ({ database: 'ok' }),
    about: { version: 'test', region: 'eu' },
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0 })
  const stranger = await createAccount(db, world.clock, 'Stranger')
  const keyFor = async (accountId: string, kind: 'live' | 'test' = 'live') =>
    (await createKey(db, world.clock, { accountId, name: 'test', kind, scopes: SCOPES_OF[kind] })).key
  const keys = {
    live: await keyFor(world.account.id),
    test: await keyFor(world.account.id, 'test'),
    stranger: await keyFor(stranger.id),
  }

  async function call(
    method: string,
    path: string,
    options: { key?: string; body?: unknown; headers?: Record<string, string> } = {},
  ) {
    const response = await fetch(listener.url + path, {
      method,
      headers: {
        authorization: `Bearer ${options.key ?? keys.live}`,
        'content-type': 'application/json',
        ...options.headers,
      },
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
  }

  const send = (change: object = {}, headers: Record<string, string> = {}, key?: string) =>
    call('POST', '/api/v1/emails/send', {
      key,
      headers,
      body: { to: 'delivered@simulator.test', from: 'hello@example.test', subject: 'Hello', text: 'Hi', ...change },
    })

  async function stop(): Promise<void> {
    await listener.close({ timeoutMs: 1_000 })
    await poster.close()
    await world.stop()
  }

  /** One attempt of a dispatch (UUID), as a workflow asks for it. */
  const { deliverOnce } = createDeliveries({ db, clock: world.clock, sealer: world.sealer, post: poster.post })
  return { world, url: listener.url, keys, call, send, workflows, dns, errors, deliverOnce, stop }
}

/** Who the service is to others. */
export const HOSTS = {
  sourceAddresses: ['192.0.2.25'],
  returnPathHost: undefined,
  bounceHost: 'mail.verdict.example',
}

/** DNS as a verification asks it, with nothing in it: remembers what was asked. A test sets `find` to what there is. */
function recordedDns() {
  const dns = {
    /** Names of domains. */
    asked: [] as string[],
    find: async (_: Domain): Promise<Findings> => ({}),
    check(domain: Domain): Promise<Findings> {
      dns.asked.push(domain.name)
      return dns.find(domain)
    },
  }
  return dns
}

/** Temporal as the services ask it: remembers what was asked. A test sets `start` to what Temporal does. */
function recordedWorkflows() {
  const started: Group[] = []
  const cancelled: string[] = []
  return {
    started,
    cancelled,
    start: async (group: Group): Promise<void> => void started.push(group),
    cancel: async (id: string): Promise<void> => void cancelled.push(id),
    closed: async () => [],
  } satisfies Workflows & Record<string, unknown>
}

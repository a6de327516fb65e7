import type { DescService } from '@bufbuild/protobuf'
import { createClient, type Interceptor } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { pino } from 'pino'
import { expect } from 'vitest'
import { createResolver } from '../../mail/dns/resolver.ts'
import { createLookup } from '../../net/lookup.ts'
import { createKey } from '../../server/access/api-keys.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'
import { createApi } from '../../server/api.ts'
import { DEFAULT_LIMITS, type OperatorLimits } from '../../server/config/limits.ts'
import { parsePublicId } from '../../server/db/ids.ts'
import { readOn } from '../../server/db/replicas.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import type { Findings } from '../../server/domains/dns-verifier.ts'
import type { Domain } from '../../server/domains/domains.ts'
import { listen } from '../../server/http/listener/listen.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import type { SendParts } from '../../server/sending/send.ts'
import { createAttempts } from '../../server/webhooks/attempt/attempt-once.ts'
import { createPost } from '../../server/webhooks/post/post.ts'
import type { Group, Workflows } from '../../server/webhooks/queue/workflows.ts'
import { createUiLinks } from '../../workflows/ui-links.ts'
import { atEnd } from '../harness/until-end.ts'
import { startSendingWorld, type World } from '../sending/world.ts'

/** How long the imaginary Temporal keeps workflows. */
export const RETENTION_MS = 86_400_000

export const uuidOf = (shown: string): string => parsePublicId(shown.slice(0, 3) as 'evt', shown)!

export type Api = Awaited<ReturnType<typeof startApi>>

type HttpParts = Pick<Parameters<typeof createApi>[0], 'allowedHosts' | 'trustProxy'>

/**
 * Starts the whole API over its own world, with the keys of two accounts. It ends with its test or file, unless the
 * world is of its caller.
 */
export async function startApi(
  now?: () => number,
  limits: OperatorLimits = DEFAULT_LIMITS,
  { world: given, http, ...sending }: Partial<SendParts> & { world?: World; http?: HttpParts } = {},
) {
  const world = given ?? (await startSendingWorld())
  const { db } = world
  const clock = now ? { ...world.clock, now } : world.clock
  const workflows = recordedWorkflows()
  /** The errors that the API has logged: the message of the line, and that of the error. */
  const errors: string[] = []
  const note = ({ msg, err }: { msg: string; err?: Error }) => err && errors.push(`${msg}: ${err.message}`)
  const log = pino({ level: 'warn' }, { write: (line) => void note(JSON.parse(line)) })
  const webhooks = createPost({
    allowSubnets: ['127.0.0.0/8'],
    lookup: createLookup(createResolver({ servers: [world.dns.address] })),
  })
  const dns = recordedDns()
  const { app, smtpDoor, idle } = await createApi({
    db,
    read: readOn(db),
    clock,
    sealer: world.sealer,
    log,
    limits,
    sendBudgetMs: sending.sendBudgetMs ?? 30_000,
    send: world.sendWith({ storeContent: true, limits, ...sending }),
    breaker: createBreaker({ db, limits }),
    hosts: HOSTS,
    verifier: dns,
    webhooks,
    workflows,
    ...createUiLinks({ uiUrl: 'http://temporal.test', namespace: 'default', retentionMs: async () => RETENTION_MS }),
    checks: async () => ({ database: 'ok' }),
    about: { version: 'test', region: 'eu' },
    publicUrl: () => listener.url,
    listenerUrl: () => listener.url,
    ...http,
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
    const json = JSON.parse(text)
    // Each error says in words what is wrong.
    if (response.status >= 400)
      for (const { message } of [json, ...(json.details ?? [])]) expect(message).toMatch(/\w \w/)
    return { status: response.status, headers: response.headers, text, json }
  }

  const send = (change: object = {}, headers: Record<string, string> = {}, key?: string) =>
    call('POST', '/api/v1/emails/send', {
      key,
      headers,
      body: { to: 'delivered@simulator.test', from: 'hello@example.test', subject: 'Hello', text: 'Hi', ...change },
    })

  /** A client over gRPC. */
  const grpc = <Service extends DescService>(service: Service, key = keys.live) =>
    createClient(service, createGrpcTransport({ baseUrl: listener.url, interceptors: [bearer(key)] }))

  async function stop(): Promise<void> {
    await listener.close({ timeoutMs: 1_000 })
    await idle()
    await webhooks.close()
  }
  if (!given) atEnd(stop)

  /** Makes one attempt of a dispatch (UUID), as a workflow would. */
  const { attemptOnce } = createAttempts({ db, clock: world.clock, sealer: world.sealer, post: webhooks.post })
  return {
    world,
    app,
    idle,
    url: listener.url,
    smtpDoor,
    keys,
    call,
    send,
    grpc,
    workflows,
    dns,
    errors,
    attemptOnce,
    stop,
  }
}

const bearer =
  (key: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set('authorization', `Bearer ${key}`)
    return next(request)
  }

/** How the service appears to others. */
export const HOSTS = {
  sourceAddresses: ['192.0.2.25'],
  returnPathHost: undefined,
  bounceHost: 'mail.verdict.example',
}

/** DNS for verifications, empty at first. It records what was asked; a test sets `find` to what DNS has. */
function recordedDns() {
  const dns = {
    /** The names of the checked domains. */
    asked: [] as string[],
    find: async (_: Domain): Promise<Findings> => ({}),
    check(domain: Domain): Promise<Findings> {
      dns.asked.push(domain.name)
      return dns.find(domain)
    },
  }
  return dns
}

/** Temporal for the services. It records their calls; a test sets `start` to what Temporal does. */
function recordedWorkflows() {
  const started: Group[] = []
  const cancelled: string[] = []
  const retried: { workflowId: string; dispatchId: string }[] = []
  const startedReplays: string[] = []
  return {
    maxGroup: 50,
    started,
    cancelled,
    retried,
    startedReplays,
    start: async (group: Group): Promise<void> => void started.push(group),
    cancel: async (id: string): Promise<void> => void cancelled.push(id),
    closed: async () => [],
    terminatedSince: async () => [],
    retryNow: async (workflowId: string, dispatchId: string): Promise<void> =>
      void retried.push({ workflowId, dispatchId }),
    startReplay: async ({ id }: { id: string }): Promise<void> => void startedReplays.push(id),
  } satisfies Workflows & Record<string, unknown>
}

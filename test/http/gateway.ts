import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { createServiceImplSpec, type HandlerContext } from '@connectrpc/connect'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { pino } from 'pino'
import { RECEIPT, KEY as RECEIPT_KEY } from '../../dev/openapi/receipt-example.ts'
import {
  DkimKeyState,
  DomainSchema,
  DomainService,
  DomainStatus,
  RecordStatus,
} from '../../gen/verdict/v1/domains_pb.ts'
import {
  EmailService,
  GetEmailResponseSchema,
  type SendRequest,
  type SendResponseSchema,
} from '../../gen/verdict/v1/emails_pb.ts'
import { ErrorReason } from '../../gen/verdict/v1/errors_pb.ts'
import {
  AttemptOutcome,
  DispatchKind,
  DispatchState,
  EventService,
  type ListEventsRequest,
  type ListEventsResponseSchema,
} from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import {
  DeliveryStatus,
  RecipientKind,
  SmtpPhase,
  SuppressionReason,
  SuppressionScope,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { ReceiptService } from '../../gen/verdict/v1/receipts_pb.ts'
import { Granularity, SendingState, StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionEntrySchema, SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { EndpointSchema, WebhookSchema, WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import { itemFaultsKey } from '../../server/caller.ts'
import { fail } from '../../server/errors.ts'
import type { Gate } from '../../server/http/admission.ts'
import { createApp, type DashboardParts, type Limits } from '../../server/http/app.ts'
import { type ListenOptions, listen } from '../../server/http/listener/listen.ts'
import { describeError } from '../../server/process/log.ts'

// The gateway over an implementation in memory: these tests are not about the services.

export const KEY = 'svc_test_key'
export const MESSAGE_ID = 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5'
const EVENT_ID = 'evt_01jx3c7w9kfxr8bq6v2m4n5p7t'
export const RATE = { limit: 600, remaining: 588, resetAt: 1_769_860_860 }
/** The rate of a caller without a key. */
export const ADDRESS_RATE = { limit: 600, remaining: 599, resetAt: 1_769_860_861 }
export const CALLER = { accountId: 'acc_1', keyId: 'key_1', test: true }

export interface Parts {
  send?(request: SendRequest, context: HandlerContext): Promise<MessageInitShape<typeof SendResponseSchema>>
  listEvents?(request: ListEventsRequest): Promise<MessageInitShape<typeof ListEventsResponseSchema>>
  gate?: Gate
  checks?(): Promise<Record<string, string>>
  limits?: Partial<Limits>
  trustProxy?: string[]
  publicUrl?(): string
  dashboard?: DashboardParts
  listen?: Partial<ListenOptions>
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>

export async function startGateway(parts: Parts = {}) {
  const lines: Record<string, unknown>[] = []
  const sent: SendRequest[] = []
  const log = pino(
    { base: undefined, serializers: { err: (error) => describeError(error) } },
    { write: (line) => void lines.push(JSON.parse(line)) },
  )
  const openCalls = createOpenCalls()
  const app = await createApp({
    services: [
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
        async getEvent({ eventId }) {
          if (eventId !== EVENT_ID) throw fail('not_found', 'There is no such event.')
          return { ...storedEvent(eventId), dispatches: [dispatch()] }
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
        list: async () => ({ entries: [suppressed()] }),
        add: async () => suppressed(),
        remove: async () => ({}),
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
    ],
    gate: parts.gate ?? oneKey,
    openCalls,
    log,
    keySet: { read: async () => ({ keys: [RECEIPT_KEY] }), maxAgeSeconds: 300 },
    checks: parts.checks ?? (async () => ({ database: 'ok', migrations: 'ok' })),
    about: { version: '0.0.0', region: 'eu' },
    limits: parts.limits,
    trustProxy: parts.trustProxy,
    publicUrl: parts.publicUrl,
    dashboard: parts.dashboard,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, ...parts.listen })
  const close = () => listener.close({ timeoutMs: 0 })
  return { ...listener, app, openCalls, lines, sent, listener, close, [Symbol.asyncDispose]: close }
}

/** A gateway whose sends last until `letGo`. */
export async function startSlow(parts: Parts = {}) {
  const held = Promise.withResolvers<void>()
  const gateway = await startGateway({
    async send() {
      await held.promise
      return delivered()
    },
    ...parts,
  })
  return { ...gateway, letGo: held.resolve }
}

/** A gateway whose sends last until they are aborted. */
export async function startEndless() {
  const aborted = Promise.withResolvers<void>()
  const gateway = await startGateway({
    async send(_, { signal }) {
      await once(signal, 'abort')
      aborted.resolve()
      throw signal.reason
    },
  })
  return { ...gateway, aborted: aborted.promise }
}

const oneKey: Gate = async ({ authorization, keyOptional, tellRate }) => {
  if (keyOptional && authorization === null) {
    tellRate(ADDRESS_RATE)
    return undefined
  }
  if (authorization !== `Bearer ${KEY}`) throw fail('invalid_api_key', 'This is not the key.')
  tellRate(RATE)
  return CALLER
}

export const delivered = () => ({
  status: DeliveryStatus.DELIVERED,
  messageId: MESSAGE_ID,
  smtp: { mx: 'mx.example.test', code: 250, phase: SmtpPhase.DOT, durationMs: 12 },
})

const storedEmail = () =>
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

const NOON = timestampFromMs(Date.UTC(2026, 0, 31, 12))

const storedEvent = (eventId: string) => ({
  eventId,
  messageId: MESSAGE_ID,
  status: DeliveryStatus.DELIVERED,
  timestamp: NOON,
  recipient: 'ada@recipient.test',
  attempts: 1,
  event: 'email.delivery',
  kind: RecipientKind.TO,
})

const dispatch = () => ({
  dispatchId: 'dsp_01jx3c7w9kfxr8bq6v2m4n5p7t',
  kind: DispatchKind.ORIGINAL,
  state: DispatchState.WAITING,
  createdAt: NOON,
  nextAttemptAt: NOON,
  attempts: [{ number: 1, startedAt: NOON, finishedAt: NOON, outcome: AttemptOutcome.DNS, durationMs: 3, phases: {} }],
})

const replayed = (eventId: string) => ({
  replayed: true,
  eventId,
  messageId: MESSAGE_ID,
  dispatchedAt: NOON,
  dispatchId: 'dsp_01jx8r3k5me2x9c4v7b1n6q0wz',
})

const tested = () => ({
  eventId: EVENT_ID,
  dispatchedAt: NOON,
  outcome: AttemptOutcome.ACKED,
  statusCode: 200,
  durationMs: 12,
  phases: { connectMs: 1, headMs: 11 },
})

const endpoint = () => {
  const { $typeName: _, ...fields } = webhook()
  return create(EndpointSchema, { ...fields, endpointId: ENDPOINT_ID, first: true })
}

const ENDPOINT_ID = 'whk_01jxc3d2gwf95srb9y9xd6pz4d'

const webhook = () =>
  create(WebhookSchema, {
    url: 'https://shop.test/webhooks',
    createdAt: NOON,
    updatedAt: NOON,
    health: { acknowledged: 3, failed: 1, successRate: 0.75, lastSuccessAt: NOON },
    events: ['email.delivery'],
    statuses: [DeliveryStatus.DELIVERED],
  })

const domain = () =>
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

const suppressed = () =>
  create(SuppressionEntrySchema, {
    email: 'ada@recipient.test',
    scope: SuppressionScope.TENANT,
    tenantId: 'tenant_1',
    reason: SuppressionReason.BOUNCE,
    createdAt: timestampFromMs(Date.UTC(2026, 0, 31, 12)),
  })

export const MAIL = { to: 'ada@recipient.test', from: 'shop@example.test', subject: 'Hello', text: 'Hello Ada' }

export interface ApiResponse {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  json: any
  text: string
}

/** Sends one request with the key. Throws when an error response lacks the documented body. */
export async function ask(
  url: string,
  path: string,
  init: RequestInit & { key?: string | null } = {},
): Promise<ApiResponse> {
  const headers = new Headers(init.headers)
  const key = init.key === undefined ? KEY : init.key
  if (key !== null) headers.set('authorization', `Bearer ${key}`)
  const response = await fetch(url + path, { ...init, headers })
  const text = await response.text()
  const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json')
  const json = isJson ? JSON.parse(text) : undefined
  if (response.status >= 400) expectErrorBody(response.status, json, response.headers.get('x-request-id'))
  return { status: response.status, headers: response.headers, json, text }
}

export function send(url: string, body: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const type = { 'content-type': 'application/json', ...headers }
  return ask(url, '/api/v1/emails/send', { method: 'POST', body: text as string, headers: type })
}

// biome-ignore lint/suspicious/noExplicitAny: a document of JSON
export const document: any = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))

const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema(document, 'openapi')
const validators = new Map<string, ReturnType<typeof ajv.compile>>()

/** The differences between a value and a schema of the OpenAPI document; empty when the value matches. */
export function faultsAgainst(pointer: string, value: unknown): unknown[] {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` })
  validators.set(pointer, validate)
  return validate(value) ? [] : validate.errors!
}

/** Throws unless an error has the body of every error, and a documented status. */
export function expectErrorBody(status: number, json: unknown, requestId: string | null | undefined): void {
  const faults = faultsAgainst('/components/schemas/Error', json)
  const known = Object.keys(json as object).filter(
    (name) => !['error', 'message', 'retry_after', 'request_id', 'details'].includes(name),
  )
  if (faults.length > 0 || known.length > 0) throw new Error(`not an error body: ${JSON.stringify({ json, faults })}`)
  if ((json as { request_id: string }).request_id !== requestId) throw new Error('request_id differs from X-Request-Id')
  if (![400, 401, 403, 404, 405, 409, 410, 413, 415, 429, 500].includes(status))
    throw new Error(`undocumented status ${status}`)
}

/** Writes bytes on a new connection and returns the response. */
export async function talk(port: number, bytes: string | Buffer, quietMs = 20_000, enough = isWhole): Promise<string> {
  const socket = await open(port)
  socket.write(bytes)
  return receive(socket, quietMs, enough)
}

export async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

/** Reads until `enough`, or until the connection is closed or quiet. */
export function receive(socket: Socket, quietMs = 20_000, enough = isWhole): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const done = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(text)
    }
    let timer = setTimeout(done, quietMs)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      clearTimeout(timer)
      if (enough(text)) done()
      else timer = setTimeout(done, quietMs)
    })
    socket.once('close', done)
  })
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  const length = /content-length: (\d+)/i.exec(text.slice(0, end))?.[1]
  return end !== -1 && length !== undefined && text.length >= end + 4 + Number(length)
}

/** The first response in the received text, checked like every other. */
export function firstResponse(received: string) {
  const [head = '', rest = ''] = received.split('\r\n\r\n', 2)
  // What follows it on the connection begins with another head.
  const body = rest.slice(0, Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? rest.length))
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
  const json = body !== '' && /^content-type: application\/json/im.test(head) ? JSON.parse(body) : undefined
  // 503 is a status of /readyz only, and not an error.
  if (status >= 400 && status !== 503) expectErrorBody(status, json, /x-request-id: (.*)/i.exec(head)?.[1])
  return { status, json, head }
}

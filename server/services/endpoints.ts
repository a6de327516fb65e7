import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ConnectError, HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { EndpointSchema, WebhookSchema, type WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { newId, parsePublicId, publicId } from '../db/ids.ts'
import { statusNames } from '../db/outcome-names.ts'
import { fail, failField } from '../errors.ts'
import { signedHeaders, timestampOf } from '../webhooks/attempt/signature.ts'
import { createOpenTarget } from '../webhooks/attempt/target.ts'
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  type EndpointWithSecret,
  putFirst,
  type RefusedUrl,
  rotateSecret,
} from '../webhooks/endpoints/change-endpoints.ts'
import { type EndpointHealth, healthsOf } from '../webhooks/endpoints/endpoint-health.ts'
import {
  type Endpoint,
  findEndpoint,
  findEndpoints,
  findTarget,
  NO_ENDPOINT,
  noSuchEndpoint,
  type WhichEndpoint,
} from '../webhooks/endpoints/endpoints.ts'
import type { Post } from '../webhooks/post/post.ts'
import { shownEnd } from './attempt-outcomes.ts'
import type { Backend } from './backend.ts'
import {
  readEndpointChange,
  readKinds,
  readNewEndpoint,
  readStatuses,
  readUrl,
  type UrlFaultOf,
} from './endpoint-fields.ts'

interface EndpointServiceParts extends Backend {
  post: Post
  faultOf: UrlFaultOf
  /** Is called with errors of workflows that could not be cancelled: they notice the deletion at their next attempt. */
  report(error: unknown): void
}

const NOT_TESTED =
  'Nothing was sent: too many tests of this endpoint are running, or the service cannot make connections now. Try again in a moment.'

type Calls = ServiceImpl<typeof WebhookService>
type FirstCalls = Pick<Calls, 'getWebhook' | 'putWebhook' | 'deleteWebhook' | 'testWebhook' | 'rotateSecret'>
type Test = ReturnType<typeof createTest>

export function createEndpointService(parts: EndpointServiceParts): Calls {
  const { db, faultOf } = parts
  const test = createTest(parts)
  return {
    ...callsOfFirst(parts, test),

    async listEndpoints(_, context) {
      const accountId = accountOf(context)
      const endpoints = await findEndpoints(db, accountId)
      const healths = await healthsOf(db, accountId, endpoints)
      return { endpoints: endpoints.map((endpoint, i) => fieldsOf(endpoint, healths[i]!)) }
    },
    async createEndpoint(request, context) {
      const accountId = accountOf(context)
      const fields = readNewEndpoint(request, faultOf)
      const created = await createEndpoint(parts, accountId, fields, requesterOf(context.values))
      return shown(db, accountId, accepted(created))
    },
    async getEndpoint({ endpointId }, context) {
      const accountId = accountOf(context)
      const endpoint = await findEndpoint(db, accountId, readId(endpointId))
      if (!endpoint) throw noSuchEndpoint(endpointId)
      return shown(db, accountId, { endpoint })
    },
    async updateEndpoint(request, context) {
      const accountId = accountOf(context)
      const id = readId(request.endpointId)
      const fields = readEndpointChange(request, faultOf)
      const changed = await changeEndpoint(parts, accountId, id, fields, requesterOf(context.values))
      if (!changed) throw noSuchEndpoint(request.endpointId)
      return shown(db, accountId, { endpoint: accepted(changed) })
    },
    deleteEndpoint: async ({ endpointId }, context) =>
      remove(parts, readId(endpointId), context, noSuchEndpoint(endpointId)),
    testEndpoint: async ({ endpointId }, context) => test(readId(endpointId), context, noSuchEndpoint(endpointId)),
    async rotateEndpointSecret({ endpointId }, context) {
      const rotated = await rotate(parts, readId(endpointId), context, noSuchEndpoint(endpointId))
      return shown(db, accountOf(context), rotated)
    },
  }
}

/** The calls of the first endpoint, which is the webhook of the account. */
function callsOfFirst(parts: EndpointServiceParts, test: Test): FirstCalls {
  const { db, faultOf } = parts
  return {
    async getWebhook(_, context) {
      const accountId = accountOf(context)
      const endpoint = await findEndpoint(db, accountId, 'first')
      if (!endpoint) throw fail('not_found', NO_ENDPOINT)
      return shownFirst(db, accountId, { endpoint })
    },
    async putWebhook(request, context) {
      const accountId = accountOf(context)
      const fields = {
        url: readUrl(request.url, faultOf),
        events: request.events.length === 0 ? undefined : readKinds(request.events),
        statuses: request.statuses.length === 0 ? undefined : readStatuses(request.statuses),
      }
      const put = await putFirst(parts, accountId, fields, requesterOf(context.values))
      return shownFirst(db, accountId, accepted(put))
    },
    deleteWebhook: (_, context) => remove(parts, 'first', context, fail('not_found', NO_ENDPOINT)),
    testWebhook: (_, context) => test('first', context, fail('webhook_not_configured', NO_ENDPOINT)),
    async rotateSecret(_, context) {
      const rotated = await rotate(parts, 'first', context, fail('not_found', NO_ENDPOINT))
      return shownFirst(db, accountOf(context), rotated)
    },
  }
}

async function shown(db: Database, accountId: string, { endpoint, secret }: EndpointWithSecret) {
  const [health] = await healthsOf(db, accountId, [endpoint])
  return { ...fieldsOf(endpoint, health!), secret }
}

/** Shows the first endpoint, without what other endpoints have. */
async function shownFirst(db: Database, accountId: string, webhook: EndpointWithSecret) {
  const endpoint = await shown(db, accountId, webhook)
  const { endpointId, url, events, statuses, createdAt, updatedAt, secret, previousSecretUntil, health } = endpoint
  const fields = { endpointId, url, events, statuses, createdAt, updatedAt, secret, previousSecretUntil, health }
  return create(WebhookSchema, fields)
}

/** Deletes an endpoint. Throws `missing` when there is no such endpoint, as `rotate` and a test do. */
async function remove(
  parts: EndpointServiceParts,
  which: WhichEndpoint,
  context: HandlerContext,
  missing: ConnectError,
) {
  const { db, workflows, report } = parts
  const workflowIds = await deleteEndpoint(db, accountOf(context), which, requesterOf(context.values))
  if (!workflowIds) throw missing
  // The call does not wait for the cancellations: nothing is posted any more, whether they succeed now or later.
  for (const id of workflowIds) workflows.cancel(id).catch(report)
  return {}
}

async function rotate(
  parts: EndpointServiceParts,
  which: WhichEndpoint,
  context: HandlerContext,
  missing: ConnectError,
) {
  const rotated = await rotateSecret(parts, accountOf(context), which, requesterOf(context.values))
  if (!rotated) throw missing
  return rotated
}

/** Returns the function that posts a test. */
function createTest({ db, clock, sealer, post }: EndpointServiceParts) {
  const targetOf = createOpenTarget(sealer)
  return async (which: WhichEndpoint, { values, signal }: HandlerContext, missing: ConnectError) => {
    const row = await findTarget(db, accountOf({ values }), which)
    if (!row) throw missing
    const atMs = Math.floor(clock.now())
    const { url, ...secrets } = targetOf(row)
    const ids = { eventId: publicId('evt', newId(atMs)), dispatchId: publicId('dsp', newId(atMs)) }
    const timestamp = timestampOf(atMs)
    const body = Buffer.from(JSON.stringify({ event: 'webhook.test', event_id: ids.eventId, timestamp }))
    const headers = signedHeaders({ body, ...ids, attempt: 1, timestamp, ...secrets })
    const startedMs = performance.now()
    const attempt = await post(url, headers, body, { accountId: accountOf({ values }), signal })
    if (attempt === undefined) throw fail('transient_failure', NOT_TESTED)
    const durationMs = Math.round(performance.now() - startedMs)
    return { eventId: ids.eventId, dispatchedAt: timestampFromMs(atMs), durationMs, ...shownEnd(attempt) }
  }
}

/** Returns the UUID of an endpoint's id. A text that is no such id is refused as an unknown one. */
function readId(shown: string): string {
  const id = parsePublicId('whk', shown)
  if (!id) throw noSuchEndpoint(shown)
  return id
}

function accepted<Result extends object>(result: Result | RefusedUrl): Result {
  if ('refused' in result) throw failField('url', result.refused)
  return result
}

function fieldsOf(endpoint: Endpoint, health: EndpointHealth) {
  const { id, first, url, description, events, statuses, tags, tenantIds, domains, disabled } = endpoint
  return create(EndpointSchema, {
    endpointId: publicId('whk', id),
    first,
    url,
    description: description ?? undefined,
    events,
    statuses: statuses.map(statusNames.value),
    tags: tags ?? [],
    tenantIds: tenantIds ?? [],
    domains: domains ?? [],
    disabled,
    createdAt: timestampFromDate(endpoint.createdAt),
    updatedAt: timestampFromDate(endpoint.updatedAt),
    previousSecretUntil: endpoint.previousUntil ? timestampFromDate(endpoint.previousUntil) : undefined,
    health: shownHealth(health),
  })
}

function shownHealth(health: EndpointHealth) {
  const { acknowledged, failed, consecutiveFailures, waiting } = health
  const { lastSuccessMs, lastFailureMs, oldestWaitingMs } = health
  return {
    acknowledged,
    failed,
    successRate: acknowledged + failed === 0 ? undefined : acknowledged / (acknowledged + failed),
    lastSuccessAt: lastSuccessMs === null ? undefined : timestampFromMs(lastSuccessMs),
    lastFailureAt: lastFailureMs === null ? undefined : timestampFromMs(lastFailureMs),
    consecutiveFailures,
    waiting,
    oldestWaitingAt: oldestWaitingMs === null ? undefined : timestampFromMs(oldestWaitingMs),
  }
}

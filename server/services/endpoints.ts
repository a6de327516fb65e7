import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ConnectError, HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { EndpointSchema, WebhookSchema, type WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf } from '../caller.ts'
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
import { type EndpointHealth, healthOf } from '../webhooks/endpoints/endpoint-health.ts'
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

const TOO_MANY_TESTS = 'Too many tests of this endpoint are running. Wait for some of them to end, then try again.'

export function createEndpointService(parts: EndpointServiceParts): ServiceImpl<typeof WebhookService> {
  const { db, clock, sealer, post, faultOf, workflows, report } = parts
  const targetOf = createOpenTarget(sealer)

  async function shownEndpoint(accountId: string, { endpoint, secret }: EndpointWithSecret) {
    return { ...fieldsOf(endpoint, await healthOf(db, accountId, endpoint.id)), secret }
  }

  /** Shows the first endpoint, without what other endpoints have. */
  async function shownFirst(accountId: string, webhook: EndpointWithSecret) {
    const { endpointId, url, events, statuses, createdAt, updatedAt, secret, previousSecretUntil, health } =
      await shownEndpoint(accountId, webhook)
    const fields = { endpointId, url, events, statuses, createdAt, updatedAt, secret, previousSecretUntil, health }
    return create(WebhookSchema, fields)
  }

  /** Deletes an endpoint. Throws `missing` without it, as the next two do. */
  async function remove(which: WhichEndpoint, { values }: HandlerContext, missing: ConnectError) {
    const accountId = accountOf({ values })
    const workflowIds = await deleteEndpoint(db, accountId, which, requesterOf(values))
    if (!workflowIds) throw missing
    // The call does not wait for the cancellations: nothing is posted any more, whether they succeed now or later.
    for (const id of workflowIds) workflows.cancel(id).catch(report)
    return {}
  }

  /** Posts a test. */
  async function test(which: WhichEndpoint, { values, signal }: HandlerContext, missing: ConnectError) {
    const accountId = accountOf({ values })
    const row = await findTarget(db, accountId, which)
    if (!row) throw missing
    const atMs = Math.floor(clock.now())
    const { url, ...secrets } = targetOf(row)
    const ids = { eventId: publicId('evt', newId(atMs)), dispatchId: publicId('dsp', newId(atMs)) }
    const timestamp = timestampOf(atMs)
    const body = Buffer.from(JSON.stringify({ event: 'webhook.test', event_id: ids.eventId, timestamp }))
    const headers = signedHeaders({ body, ...ids, attempt: 1, timestamp, ...secrets })
    const startedMs = performance.now()
    const attempt = await post(url, headers, body, { endpointId: row.endpointId, signal })
    if (attempt === undefined) throw fail('transient_failure', TOO_MANY_TESTS)
    const durationMs = Math.round(performance.now() - startedMs)
    return { eventId: ids.eventId, dispatchedAt: timestampFromMs(atMs), durationMs, ...shownEnd(attempt) }
  }

  async function rotate(which: WhichEndpoint, { values }: HandlerContext, missing: ConnectError) {
    const rotated = await rotateSecret(parts, accountOf({ values }), which, requesterOf(values))
    if (!rotated) throw missing
    return rotated
  }

  return {
    async listEndpoints(_, context) {
      const accountId = accountOf(context)
      const endpoints = await findEndpoints(db, accountId)
      return { endpoints: await Promise.all(endpoints.map((endpoint) => shownEndpoint(accountId, { endpoint }))) }
    },

    async createEndpoint(request, context) {
      const accountId = accountOf(context)
      const fields = readNewEndpoint(request, faultOf)
      const created = await createEndpoint(parts, accountId, fields, requesterOf(context.values))
      return shownEndpoint(accountId, accepted(created))
    },

    async getEndpoint({ endpointId }, context) {
      const accountId = accountOf(context)
      const endpoint = await findEndpoint(db, accountId, readId(endpointId))
      if (!endpoint) throw noSuchEndpoint(endpointId)
      return shownEndpoint(accountId, { endpoint })
    },

    async updateEndpoint(request, context) {
      const accountId = accountOf(context)
      const id = readId(request.endpointId)
      const fields = readEndpointChange(request, faultOf)
      const changed = await changeEndpoint(parts, accountId, id, fields, requesterOf(context.values))
      if (!changed) throw noSuchEndpoint(request.endpointId)
      return shownEndpoint(accountId, { endpoint: accepted(changed) })
    },

    async deleteEndpoint({ endpointId }, context) {
      return remove(readId(endpointId), context, noSuchEndpoint(endpointId))
    },

    async testEndpoint({ endpointId }, context) {
      return test(readId(endpointId), context, noSuchEndpoint(endpointId))
    },

    async rotateEndpointSecret({ endpointId }, context) {
      return shownEndpoint(accountOf(context), await rotate(readId(endpointId), context, noSuchEndpoint(endpointId)))
    },

    async getWebhook(_, context) {
      const accountId = accountOf(context)
      const endpoint = await findEndpoint(db, accountId, 'first')
      if (!endpoint) throw fail('not_found', NO_ENDPOINT)
      return shownFirst(accountId, { endpoint })
    },

    async putWebhook(request, context) {
      const accountId = accountOf(context)
      const fields = {
        url: readUrl(request.url, faultOf),
        events: request.events.length === 0 ? undefined : readKinds(request.events),
        statuses: request.statuses.length === 0 ? undefined : readStatuses(request.statuses),
      }
      return shownFirst(accountId, accepted(await putFirst(parts, accountId, fields, requesterOf(context.values))))
    },

    async deleteWebhook(_, context) {
      return remove('first', context, fail('not_found', NO_ENDPOINT))
    },

    async testWebhook(_, context) {
      return test('first', context, fail('webhook_not_configured', NO_ENDPOINT))
    },

    async rotateSecret(_, context) {
      return shownFirst(accountOf(context), await rotate('first', context, fail('not_found', NO_ENDPOINT)))
    },
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

import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { type Webhook, WebhookSchema, type WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { callerKey } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { EVENT_KINDS } from '../db/event-kinds.ts'
import { newId, publicId } from '../db/ids.ts'
import { statusNames } from '../db/outcome-names.ts'
import { fail } from '../errors.ts'
import { type EndpointHealth, healthOf } from '../webhooks/endpoint-health.ts'
import {
  deleteEndpoint,
  type EndpointWithSecret,
  findEndpoint,
  findTarget,
  putEndpoint,
  rotateSecret,
} from '../webhooks/endpoints.ts'
import type { Post } from '../webhooks/post.ts'
import { NO_ENDPOINT } from '../webhooks/replays/replay.ts'
import { signedHeaders } from '../webhooks/signature.ts'
import { createOpenTarget } from '../webhooks/target.ts'
import type { Workflows } from '../webhooks/workflows.ts'
import { shownEnd } from './attempt-outcomes.ts'
import { isEventKind, ONE_OF_KINDS, readEnum, refuse } from './listing.ts'

export interface WebhookServiceParts {
  db: Database
  clock: DatabaseClock
  sealer: Sealer
  post: Post
  /** Says why a URL may not be an endpoint, as the rest of a sentence that begins with "url"; undefined when it may. */
  faultOf(url: string): string | undefined
  workflows: Pick<Workflows, 'cancel'>
  /** Is called with errors of workflows that could not be cancelled: they notice the deletion at their next attempt. */
  report(error: unknown): void
}

const TOO_MANY_TESTS = 'Too many tests of this endpoint are running. Wait for some of them to end, then try again.'

export function createWebhookService(parts: WebhookServiceParts): ServiceImpl<typeof WebhookService> {
  const { db, clock, sealer, post, faultOf, workflows, report } = parts
  const targetOf = createOpenTarget(sealer)

  const shown = async (accountId: string, webhook: EndpointWithSecret) =>
    webhookOf(webhook, await healthOf(db, accountId))

  return {
    async getWebhook(_, context) {
      const { accountId } = context.values.get(callerKey)!
      const endpoint = await findEndpoint(db, accountId)
      if (!endpoint) throw fail('not_found', NO_ENDPOINT)
      return shown(accountId, { endpoint })
    },

    async putWebhook({ url, ...lists }, context) {
      const { accountId } = context.values.get(callerKey)!
      const fault = url === '' ? 'is required' : faultOf(url)
      if (fault) throw refuse('url', fault)
      const events = readKinds(lists.events)
      const statuses = readStatuses(lists.statuses)
      return shown(
        accountId,
        await putEndpoint(parts, accountId, { url, events, statuses }, requesterOf(context.values)),
      )
    },

    async deleteWebhook(_, context) {
      const { accountId } = context.values.get(callerKey)!
      const workflowIds = await deleteEndpoint(db, accountId, requesterOf(context.values))
      if (!workflowIds) throw fail('not_found', NO_ENDPOINT)
      // The call does not wait for the cancellations: nothing is posted any more, whether they succeed now or later.
      for (const id of workflowIds) workflows.cancel(id).catch(report)
      return {}
    },

    async testWebhook(_, context) {
      const { accountId } = context.values.get(callerKey)!
      const row = await findTarget(db, accountId)
      if (!row) throw fail('webhook_not_configured', NO_ENDPOINT)
      const atMs = Math.floor(clock.now())
      const { url, ...secrets } = targetOf(row)
      const ids = { eventId: publicId('evt', newId(atMs)), dispatchId: publicId('dsp', newId(atMs)) }
      const timestamp = Math.floor(atMs / 1_000)
      const body = Buffer.from(JSON.stringify({ event: 'webhook.test', event_id: ids.eventId, timestamp }))
      const headers = signedHeaders({ body, ...ids, attempt: 1, timestamp, ...secrets })
      const startedMs = performance.now()
      const attempt = await post(url, headers, body, { accountId, signal: context.signal })
      if (attempt === undefined) throw fail('transient_failure', TOO_MANY_TESTS)
      const durationMs = Math.round(performance.now() - startedMs)
      return { eventId: ids.eventId, dispatchedAt: timestampFromMs(atMs), durationMs, ...shownEnd(attempt) }
    },

    async rotateSecret(_, context) {
      const { accountId } = context.values.get(callerKey)!
      const webhook = await rotateSecret(parts, accountId, requesterOf(context.values))
      if (!webhook) throw fail('not_found', NO_ENDPOINT)
      return shown(accountId, webhook)
    },
  }
}

// A list in the order of the contract, without duplicates; undefined for an empty one, which leaves the list as it is.

function readKinds(given: string[]) {
  const index = given.findIndex((kind) => !isEventKind(kind))
  if (index >= 0) throw refuse(`events[${index}]`, ONE_OF_KINDS)
  return given.length === 0 ? undefined : EVENT_KINDS.filter((kind) => given.includes(kind))
}

function readStatuses(given: DeliveryStatus[]) {
  for (const [i, status] of given.entries()) readEnum(`statuses[${i}]`, status, statusNames)
  const inOrder = [...new Set(given)].sort((a, b) => a - b)
  return given.length === 0 ? undefined : inOrder.map(statusNames.name)
}

function webhookOf({ endpoint, secret }: EndpointWithSecret, health: EndpointHealth): Webhook {
  const { acknowledged, failed, consecutiveFailures, waiting } = health
  const { lastSuccessMs, lastFailureMs, oldestWaitingMs } = health
  return create(WebhookSchema, {
    url: endpoint.url,
    events: endpoint.events,
    statuses: endpoint.statuses.map(statusNames.value),
    createdAt: timestampFromDate(endpoint.createdAt),
    updatedAt: timestampFromDate(endpoint.updatedAt),
    secret,
    previousSecretUntil: endpoint.previousUntil ? timestampFromDate(endpoint.previousUntil) : undefined,
    health: {
      acknowledged,
      failed,
      successRate: acknowledged + failed === 0 ? undefined : acknowledged / (acknowledged + failed),
      lastSuccessAt: lastSuccessMs === null ? undefined : timestampFromMs(lastSuccessMs),
      lastFailureAt: lastFailureMs === null ? undefined : timestampFromMs(lastFailureMs),
      consecutiveFailures,
      waiting,
      oldestWaitingAt: oldestWaitingMs === null ? undefined : timestampFromMs(oldestWaitingMs),
    },
  })
}

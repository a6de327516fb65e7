import type { DescMessage } from '@bufbuild/protobuf'
import {
  EmailDeliveryPayloadSchema,
  EmailFeedbackPayloadSchema,
  WebhookTestPayloadSchema,
} from '../../gen/verdict/v1/payload_pb.ts'
import type { EventKind } from '../../server/db/event-kinds.ts'
import type { Comments } from './comments.ts'
import { EVENT, EVENT_ID } from './examples.ts'
import { json, summaryAndRest } from './operations.ts'
import type { Schemas } from './schemas.ts'

const TIMESTAMP = 1_769_860_800

/** Differs from the tag of WebhookService: generators make one class per tag, and one would overwrite the other. */
export const PAYLOADS_TAG = { name: 'Payloads', description: 'What the service posts to your webhook endpoint.' }

/** The requests that the service posts to a webhook endpoint, as the `webhooks` of an OpenAPI document. */
export function webhooksOf(schemas: Schemas, comments: Comments): Record<string, object> {
  return postedTo('receive', schemas, comments)
}

/**
 * The same requests as callbacks of the call that creates an endpoint. oapi-codegen drops schemas that no path uses,
 * and then misses those of the webhooks.
 */
export function callbacksOf(schemas: Schemas, comments: Comments): Record<string, object> {
  const posted = Object.entries(postedTo('post', schemas, comments))
  return Object.fromEntries(posted.map(([name, path]) => [name, { '{$request.body#/url}': path }]))
}

/** `verb`: the first word of the operation ids, which must be unique in the document. */
function postedTo(verb: string, schemas: Schemas, comments: Comments): Record<string, object> {
  const posted = (name: string, desc: DescMessage, example: object) => {
    const comment = comments.get(desc.typeName)
    if (!comment) throw new Error(`${desc.typeName} needs a comment`)
    const [summary, description] = summaryAndRest(comment)
    return {
      post: {
        operationId: `${verb}${name}`,
        tags: [PAYLOADS_TAG.name],
        summary,
        description: description || undefined,
        security: [],
        parameters: HEADERS,
        requestBody: json(schemas.message(desc, 'response'), example, true),
        responses: {
          200: { description: 'The endpoint has the event. Only 200 acknowledges it.' },
          default: { description: 'The event is not acknowledged. The service retries it.' },
        },
      },
    }
  }
  return Object.fromEntries(
    Object.entries(POSTED).map(([kind, [desc, example]]) => {
      const name = kind.replace(/\.(.)/, (_, letter) => letter.toUpperCase())
      return [name, posted(`${name.charAt(0).toUpperCase()}${name.slice(1)}`, desc, { event: kind, ...example })]
    }),
  )
}

const { message_id, status, recipient, tag, metadata } = EVENT
/** The body of each kind of events, with an example. The service stores no event of the kind `webhook.test`. */
const POSTED: Record<EventKind | 'webhook.test', [desc: DescMessage, example: object]> = {
  'email.delivery': [
    EmailDeliveryPayloadSchema,
    {
      message_id,
      status,
      timestamp: TIMESTAMP,
      event_id: EVENT_ID,
      recipient,
      smtp: { mx: 'mx.simulator.test', code: 250, enhanced: '2.0.0', reply: 'Delivered' },
      tag,
      metadata,
      tenant_id: 'tenant_1',
    },
  ],
  'email.feedback': [
    EmailFeedbackPayloadSchema,
    {
      message_id,
      status,
      reason: 'mailbox_does_not_exist',
      timestamp: TIMESTAMP + 431,
      event_id: 'evt_01jx5be5r0f3s8n1m6k4z9w2ct',
      recipient,
      feedback: 'late_bounce',
      detail: '550 5.1.1 User unknown',
      tag,
      metadata,
      tenant_id: 'tenant_1',
    },
  ],
  'webhook.test': [WebhookTestPayloadSchema, { event_id: EVENT_ID, timestamp: TIMESTAMP }],
}

function header(name: string, description: string, required = true, schema: object = { type: 'string' }): object {
  return { name, in: 'header', required, description, schema }
}

const HEADERS = [
  header('Service-Signature', 'HMAC-SHA256 of `<Service-Timestamp>.<body>`, keyed with the secret, in lower-case hex.'),
  header('Service-Signature-Previous', 'The same with the previous secret, for 24 hours after a rotation.', false),
  header(
    'Service-Timestamp',
    'When this attempt was signed, in Unix seconds. Refuse a time more than 300 seconds from your clock.',
  ),
  header('Service-Event-Id', 'The `event_id` of the body.'),
  header('Service-Dispatch-Id', 'Identifier of the dispatch, one run of the retry schedule: `dsp_` and 26 characters.'),
  header('Service-Attempt', 'Number of the attempt within its dispatch, starting at 1.', true, {
    type: 'integer',
    minimum: 1,
  }),
  header('webhook-id', 'The `event_id` of the body, as Standard Webhooks names it.'),
  header('webhook-timestamp', 'When this attempt was signed, in Unix seconds, as Standard Webhooks names it.'),
  header('webhook-signature', 'The signatures of Standard Webhooks, each `v1,` and base64, separated by spaces.'),
]

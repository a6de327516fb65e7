import { type DescField, getOption } from '@bufbuild/protobuf'
import { scope } from '../../gen/verdict/v1/options_pb.ts'
import { ERRORS, type PublicErrorReason } from '../../server/errors.ts'
import type { Binding } from '../../server/http/rest/bindings.ts'
import type { Comments } from './comments.ts'
import { EXAMPLES, type Example, HEADERS, takesIdempotencyKey } from './examples.ts'
import { samplesOf } from './samples.ts'
import { schemaName } from './schema-names.ts'
import type { Schemas } from './schemas.ts'

/**
 * Operation ids that name their resource, for methods whose own name does not. A generated client has one method per
 * id, and `import` or `list` alone is a keyword in some languages.
 */
const OPERATION_IDS: Record<string, string> = {
  'EmailService.Send': 'sendEmail',
  'EmailService.Validate': 'validateEmail',
  'EmailService.SendBatch': 'sendEmailBatch',
  'WebhookService.RotateSecret': 'rotateWebhookSecret',
  'SuppressionService.Import': 'importSuppressions',
  'SuppressionService.UndoImport': 'undoSuppressionImport',
  'SuppressionService.List': 'listSuppressions',
  'SuppressionService.Add': 'addSuppression',
  'SuppressionService.Remove': 'removeSuppression',
  'SuppressionService.Lift': 'liftSuppressions',
}

/** The operation of one method. Throws when the method has no comment or no example: the reference would be empty. */
export function operationOf(binding: Binding, schemas: Schemas, comments: Comments): object {
  const { method, hasBody } = binding
  const name = `${method.parent.name}.${method.name}`
  const comment = comments.get(`${method.parent.typeName}.${method.name}`)
  const example = EXAMPLES[name]
  if (!comment || !example) throw new Error(`${name} needs a comment and an example`)
  const [summary, description] = summaryAndRest(comment)
  return {
    operationId: OPERATION_IDS[name] ?? method.localName,
    tags: [tagOf(binding)],
    summary,
    description: [description, needs(getOption(method, scope))].filter(Boolean).join('\n\n'),
    parameters: [...parameters(binding, schemas, example), ...(HEADERS[name] ?? []), REQUEST_ID_PARAMETER],
    ...(hasBody ? { requestBody: requestBody(binding, schemas, example) } : {}),
    responses: {
      200: {
        description: 'The response.',
        headers: { ...REQUEST_ID_HEADER, ...RATE_HEADERS, ...(takesIdempotencyKey(name) ? REPLAY_HEADERS : {}) },
        ...json(schemas.message(method.output, 'response'), example.response),
      },
      ...errorResponses(binding),
    },
    'x-codeSamples': samplesOf(binding, example),
  }
}

/** A body that needs no member may be absent: a PATCH then changes nothing. */
function requestBody({ method, inPath }: Binding, schemas: Schemas, example: Example): object {
  const schema = schemas.message(method.input, 'request', inPath)
  const { required } = schemas.components[schemaName(method.input.name)] as { required: string[] }
  return json(schema, example.request, required.length > 0)
}

const needs = (scope: string) => (scope === 'any' ? undefined : `Needs the scope \`${scope}\`.`)

export function tagOf({ method }: Binding): string {
  return method.parent.name.replace(/s?Service$/, 's')
}

/** The first sentence, without its dot, and the rest. */
export function summaryAndRest(comment: string): [string, string] {
  const end = /\.(\s|$)/.exec(comment)?.index ?? comment.length
  return [comment.slice(0, end), comment.slice(end + 1).trim()]
}

const REQUEST_ID_PARAMETER = { $ref: '#/components/parameters/RequestId' }
const header = (name: string) => ({ $ref: `#/components/headers/${name}` })
export const RATE_HEADERS = {
  'X-RateLimit-Limit': header('RateLimitLimit'),
  'X-RateLimit-Remaining': header('RateLimitRemaining'),
  'X-RateLimit-Reset': header('RateLimitReset'),
}
const RETRY_HEADER = { 'Retry-After': header('RetryAfter') }
const CHALLENGE_HEADER = { 'WWW-Authenticate': header('Challenge') }
const REPLAY_HEADERS = {
  'Idempotent-Replayed': header('IdempotentReplayed'),
  'Idempotency-Mismatch': header('IdempotencyMismatch'),
}
export const REQUEST_ID_HEADER = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }

function parameters({ method, inPath, hasBody }: Binding, schemas: Schemas, example: Example): object[] {
  const place = (field: DescField) => (inPath.includes(field.jsonName) ? 'path' : 'query')
  const fields = method.input.fields.filter((field) => !hasBody || place(field) === 'path')
  return fields.map((field) => {
    const { description, ...schema } = schemas.field(field, 'request')
    const value = example.parameters?.[field.jsonName]
    return {
      name: field.jsonName,
      in: place(field),
      required: place(field) === 'path',
      description,
      // OpenAPI's only form for the pairs of a map: `metadata[order]=7`.
      ...(field.fieldKind === 'map' ? { style: 'deepObject', explode: true } : {}),
      schema,
      ...(value === undefined ? {} : { example: value }),
    }
  })
}

export function json(schema: object, example?: unknown, required?: boolean): object {
  const media = { schema, ...(example === undefined ? {} : { example }) }
  return { ...(required ? { required } : {}), content: { 'application/json': media } }
}

const ALWAYS: PublicErrorReason[] = ['invalid_payload', 'invalid_api_key', 'rate_limit_exceeded', 'transient_failure']
const WITH_SCOPE: PublicErrorReason[] = ['insufficient_scope']
const WITH_BODY: PublicErrorReason[] = ['payload_too_large', 'unsupported_media_type']
const IN_PATH: PublicErrorReason[] = ['not_found']
const OF_HISTORY: PublicErrorReason[] = ['event_expired']
const OF_WEBHOOK: PublicErrorReason[] = ['not_found']
const TO_WEBHOOK: PublicErrorReason[] = ['webhook_not_configured']
const OF_SENDING: PublicErrorReason[] = ['invalid_address', 'domain_not_verified']
const OF_ADDRESSES: PublicErrorReason[] = ['invalid_address']
/** Methods that need the account's endpoint, and methods that send something to it. */
const OF_THE_WEBHOOK = new Set(['GetWebhook', 'DeleteWebhook', 'RotateSecret'])
const TO_THE_WEBHOOK = new Set(['TestWebhook', 'ReplayEvent', 'ReplayMessage'])

/** The errors an operation can return, by status. */
function errorResponses({ method, hasBody, inPath }: Binding): Record<string, object> {
  const asked = getOption(method, scope)
  const reasons = [
    ...ALWAYS,
    ...(asked === 'any' ? [] : WITH_SCOPE),
    ...(hasBody ? WITH_BODY : []),
    ...(inPath.length > 0 ? IN_PATH : []),
    ...(inPath.length > 0 && /^(emails|events)\./.test(asked) ? OF_HISTORY : []),
    ...(OF_THE_WEBHOOK.has(method.name) ? OF_WEBHOOK : []),
    ...(TO_THE_WEBHOOK.has(method.name) ? TO_WEBHOOK : []),
    ...(asked === 'emails.send' ? OF_SENDING : []),
    ...(method.input.fields.some(({ jsonName }) => jsonName === 'email') ? OF_ADDRESSES : []),
  ]
  const byStatus = Map.groupBy(reasons, (reason) => ERRORS[reason].status)
  return Object.fromEntries([...byStatus].map(([status, reasons]) => [status, errorResponse(reasons)]))
}

const MESSAGES: Record<PublicErrorReason, string> = {
  invalid_payload: 'The field subject must be a string.',
  invalid_address: 'The address in to does not parse.',
  invalid_api_key: 'This API key does not exist, was revoked or has expired.',
  domain_not_verified: 'The domain of the from address is not a domain of this account.',
  insufficient_scope: 'This API key lacks the scope of this call.',
  not_found: 'There is no such message in this account.',
  method_not_allowed: 'This path takes POST, OPTIONS.',
  webhook_not_configured: 'This account has no webhook endpoint. Set one: PUT /api/v1/webhook {"url": "https://..."}.',
  event_expired: 'It is older than the 90 days that everything is kept.',
  payload_too_large: 'The request is larger than 15 MiB.',
  unsupported_media_type: 'The body must be application/json in UTF-8.',
  rate_limit_exceeded: 'The 600 requests per minute of this account are used up. Wait 12 seconds.',
  transient_failure: 'A fault of the service. Nothing was sent; it is safe to retry.',
}

/** The response with one of these errors. `counted`: the request has counted for the rate limit. */
export function errorResponse(reasons: PublicErrorReason[], counted = !reasons.includes('invalid_api_key')): object {
  const limited = reasons.includes('rate_limit_exceeded')
  const examples = reasons.map((error) => [
    error,
    {
      value: {
        error,
        message: MESSAGES[error],
        ...(limited ? { retry_after: 12 } : {}),
        request_id: '5f2c1d1e-8a57-4e0e-9d0c-2b7a4f1d9c10',
      },
    },
  ])
  return {
    description: `${reasons.map((reason) => `\`${reason}\``).join(' or ')}.`,
    headers: {
      ...REQUEST_ID_HEADER,
      ...(counted ? RATE_HEADERS : {}),
      ...(reasons.includes('invalid_api_key') ? CHALLENGE_HEADER : {}),
      ...(limited ? RETRY_HEADER : {}),
    },
    content: {
      'application/json': { schema: { $ref: '#/components/schemas/Error' }, examples: Object.fromEntries(examples) },
    },
  }
}

import type { DescService } from '@bufbuild/protobuf'
import { ErrorReasonSchema } from '../../gen/verdict/v1/errors_pb.ts'
import { ERRORS } from '../../server/errors.ts'
import { bindingsOf } from '../../server/http/rest/bindings.ts'
import { enumName } from '../../server/http/rest/json-shape.ts'
import { KEY_SET_PATH } from '../../server/http/site/key-set.ts'
import { OPENAPI_PATH } from '../../server/http/site/openapi.ts'
import type { Comments } from './comments.ts'
import { errorResponse, json, operationOf, RATE_HEADERS, REQUEST_ID_HEADER, tagOf } from './operations.ts'
import { KEY } from './receipt-example.ts'
import type { Schema } from './schema.ts'
import { Schemas } from './schemas.ts'
import { callbacksOf, PAYLOADS_TAG as PAYLOADS, webhooksOf } from './webhooks.ts'

export interface Document {
  openapi: string
  paths: Record<string, Record<string, object>>
  webhooks: Record<string, object>
  components: { schemas: Record<string, Schema>; [kind: string]: object }
  [key: string]: unknown
}

const DESCRIPTION = `Sends transactional email and returns the verdict of the recipient's mail server in the same response.

A bounce or a rejection is a response with status 200, not an error. Every error has the schema \`Error\`. The same calls
are available over gRPC, gRPC-Web and Connect on the same port: use the Protobuf contract \`verdict.v1\` or server
reflection.`

/** The OpenAPI 3.1 document of the REST interface. */
export function openApiDocument(services: DescService[], comments: Comments, version: string): Document {
  const schemas = new Schemas(comments)
  const bindings = bindingsOf(services)
  const paths: Document['paths'] = {}
  for (const binding of bindings) {
    const operation = operationOf(binding, schemas, comments)
    paths[binding.path] = { ...paths[binding.path], [binding.verb.toLowerCase()]: operation }
  }
  const webhooks = webhooksOf(schemas, comments)
  Object.assign(paths['/api/v1/webhooks']!.post!, { callbacks: callbacksOf(schemas, comments) })
  const tags = bindings.map((binding) => [tagOf(binding), comments.get(binding.method.parent.typeName)])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Verdict',
      version,
      description: DESCRIPTION,
      contact: { name: 'The operator of this server' },
    },
    servers: [{ url: '/', description: 'This server' }],
    security: [{ apiKey: [] }],
    tags: [
      ...[...new Map(tags as [string, string][])].map(([name, description]) => ({ name, description })),
      { name: 'Server', description: 'Health of the server, and this document.' },
      PAYLOADS,
    ],
    paths: { ...paths, ...serverPaths(version) },
    webhooks,
    components: {
      ...COMPONENTS,
      schemas: { ...schemas.components, ...opened({ ...OWN_SCHEMAS, Error: errorSchema(comments) }) },
    },
  }
}

const COMPONENTS = {
  securitySchemes: {
    apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `svc_live_...` or `svc_test_...`.' },
  },
  parameters: {
    RequestId: {
      name: 'X-Request-Id',
      in: 'header',
      description: 'Your own id for this request, 1 to 128 printable characters. The response returns it.',
      schema: { type: 'string' },
    },
  },
  headers: {
    RequestId: {
      description: 'The id of this request: yours, or a generated one.',
      required: true,
      schema: { type: 'string' },
      example: 'order-1234',
    },
    RateLimitLimit: count('Requests per minute of the account, or of the IP address when the call has no key.', 600),
    RateLimitRemaining: count('Requests left in the current minute.', 588),
    RateLimitReset: count('When the current minute ends, in Unix seconds.', 1_769_860_860),
    RetryAfter: count('Seconds to wait before you try again, as `retry_after` in the body.', 12),
    IdempotentReplayed: {
      description: 'Present when this is the stored response of an earlier request with the same `Idempotency-Key`.',
      schema: { type: 'string', const: 'true' },
    },
    IdempotencyMismatch: {
      description: 'Present when the body differs from the body of that earlier request.',
      schema: { type: 'string', const: 'body' },
    },
    Challenge: {
      description: 'How to authenticate (RFC 9110 11.6.1).',
      schema: { type: 'string', const: 'Bearer' },
    },
  },
}

function count(description: string, example: number) {
  return { description, schema: { type: 'integer', minimum: 0 }, example }
}

const OWN_SCHEMAS: Record<string, Schema> = {
  Health: {
    description: 'The process is alive.',
    type: 'object',
    properties: { status: { type: 'string', const: 'ok' }, version: { type: 'string' }, region: { type: 'string' } },
    required: ['status', 'version', 'region'],
  },
  Readiness: {
    description: 'Whether the server accepts calls, and the state of each dependency.',
    type: 'object',
    properties: {
      status: { type: 'string', enum: ['ready', 'not_ready'] },
      checks: {
        type: 'object',
        properties: { draining: { type: 'string', enum: ['yes', 'no'] } },
        additionalProperties: { type: 'string' },
        required: ['draining'],
      },
    },
    required: ['status', 'checks'],
  },
  KeySet: {
    description: 'A JSON Web Key Set (RFC 7517) of Ed25519 keys (RFC 8037).',
    type: 'object',
    properties: {
      keys: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            kty: { type: 'string', const: 'OKP' },
            crv: { type: 'string', const: 'Ed25519' },
            x: { description: 'The public key, 32 bytes in base64url.', type: 'string' },
            kid: { description: 'The id of the key, as in the header of a receipt.', type: 'string' },
            alg: { type: 'string', const: 'EdDSA' },
            use: { type: 'string', const: 'sig' },
          },
          required: ['kty', 'crv', 'x', 'kid', 'alg', 'use'],
        },
      },
    },
    required: ['keys'],
  },
}

/** Objects and words of responses, so that a later version may have more. */
function opened<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map(opened) as Node
  if (typeof node !== 'object' || node === null) return node
  const { enum: words, ...schema } = node as Schema
  const entries = Object.entries(schema).map(([name, one]) => [name, opened(one)])
  return {
    ...(schema.type === 'object' && { additionalProperties: true }),
    ...Object.fromEntries(entries),
    ...(Array.isArray(words) && { 'x-extensible-enum': words }),
  }
}

function errorSchema(comments: Comments): Schema {
  const served = ErrorReasonSchema.values.filter((value) => enumName(value) in ERRORS)
  const meanings = served.map(
    (value) => `- \`${enumName(value)}\`: ${comments.get(`verdict.v1.ErrorReason.${value.name}`)}`,
  )
  const fault = {
    type: 'object',
    properties: { field: { type: 'string' }, message: { type: 'string' } },
    required: ['field', 'message'],
  }
  return {
    description: 'The body of every error.',
    type: 'object',
    properties: {
      error: { description: meanings.join('\n'), type: 'string', enum: served.map(enumName) },
      message: { description: 'What is wrong, in words.', type: 'string' },
      retry_after: { description: 'Seconds to wait before you try again.', type: 'integer', minimum: 0 },
      request_id: { description: 'The id in the header `X-Request-Id`.', type: 'string' },
      details: {
        description: 'The invalid fields, by their path, such as `attachments[0].content`.',
        type: 'array',
        items: fault,
      },
    },
    required: ['error', 'message', 'request_id'],
  }
}

/** The paths that the server serves in addition to the contract. */
function serverPaths(version: string): Document['paths'] {
  const open = (operationId: string, summary: string, description: string, responses: object) => ({
    get: { operationId, tags: ['Server'], summary, description, security: [], responses },
  })
  const response = (description: string, schema: object, example: unknown, headers?: object) => ({
    description,
    headers: { ...REQUEST_ID_HEADER, ...headers },
    ...json(schema, example),
  })
  const readiness = { $ref: '#/components/schemas/Readiness' }
  const checks = { database: 'ok', migrations: 'ok', draining: 'no' }
  return {
    [OPENAPI_PATH]: open('getOpenApi', 'Returns this document', 'No key is needed, but an invalid key is refused.', {
      200: response('The document.', { type: 'object' }, { openapi: '3.1.0' }, RATE_HEADERS),
      401: errorResponse(['invalid_api_key']),
      429: errorResponse(['rate_limit_exceeded']),
    }),
    '/healthz': open('getHealth', 'Checks whether the process is alive', 'Checks no dependency.', {
      200: response(
        'The process is alive.',
        { $ref: '#/components/schemas/Health' },
        { status: 'ok', version, region: 'eu' },
      ),
      400: errorResponse(['invalid_payload'], false),
    }),
    '/readyz': open(
      'getReadiness',
      'Checks whether the server accepts calls',
      'Meant for load balancers. The server is not ready while it drains.',
      {
        200: response('The server accepts calls.', readiness, { status: 'ready', checks }),
        400: errorResponse(['invalid_payload'], false),
        503: response('The server accepts no calls.', readiness, {
          status: 'not_ready',
          checks: { ...checks, database: 'failing' },
        }),
      },
    ),
    [KEY_SET_PATH]: open(
      'getKeySet',
      'Returns the public keys of receipts',
      'Every key that ever signed, and the next one 10 minutes before it signs.',
      {
        200: response('The keys.', { $ref: '#/components/schemas/KeySet' }, { keys: [KEY] }),
        400: errorResponse(['invalid_payload'], false),
        500: errorResponse(['transient_failure'], false),
      },
    ),
  }
}

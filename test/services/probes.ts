import type { JsonObject } from '@bufbuild/protobuf'

export type Protocol = 'REST' | 'gRPC'

/** A request with an identifier in it: of another account, or an unknown one. */
export interface Probe {
  what: string
  theirs(protocol: Protocol): string
  nobodys(protocol: Protocol): string
  request(value: string): JsonObject
  headers?(value: string): Record<string, string>
}

const TENANT = { what: 'tenant_id', theirs: () => 'acme-1', nobodys: () => 'acmf-1' }
/** The import of the other account's suppressed addresses. */
export const IMPORT = {
  what: 'import_id',
  theirs: () => 'imp_01jx5be5r0f3s8n1m6k4z9w2ct',
  nobodys: () => 'imp_01jx5be5r0f3s8n1m6k4z9w2cv',
}
const EVER = { created_from: '2020-01-01T00:00:00Z', created_to: '2100-01-01T00:00:00Z' }
const DOMAIN = { what: 'domain', theirs: () => 'example.test', nobodys: () => 'exbmple.test' }
/** Addresses on a suppression list of the other account, one for each use: a request may add the address it names. */
export const suppressed = (use: string) => ({
  what: 'email',
  theirs: (protocol: Protocol) => `a-${use}-${protocol.toLowerCase()}@example.net`,
  nobodys: (protocol: Protocol) => `b-${use}-${protocol.toLowerCase()}@example.net`,
})
export const USES = ['send', 'validate', 'batch', 'import', 'list', 'add', 'remove']

export const mail = (more: object = {}) => ({
  to: ['zoe@example.net'],
  from: 'hello@stranger.test',
  subject: 'Hello',
  text: 'Hi',
  ...more,
})
const sends = (use: string, request: (mail: object) => JsonObject = (mail) => mail as JsonObject): Probe[] => [
  { ...DOMAIN, request: (domain) => request(mail({ from: `hello@${domain}` })) },
  { ...TENANT, request: (tenant_id) => request(mail({ tenant_id })) },
  { ...suppressed(use), request: (email) => request(mail({ to: [email] })) },
  {
    what: 'Idempotency-Key',
    theirs: (protocol) => `their-${use}-${protocol}`,
    nobodys: (protocol) => `alien-${use}-${protocol}`,
    request: () => request(mail()),
    headers: (key) => ({ 'idempotency-key': key }),
  },
]

/** The probes by operation of the OpenAPI document. The ids belong to the other account. */
export const probesOf = (
  messageId: () => string,
  eventId: () => string,
  domainId: () => string,
  endpointId: () => string,
): Record<string, Probe[]> => ({
  'POST /api/v1/emails/send': [...sends('send'), retries(messageId)],
  'POST /api/v1/emails/validate': [...sends('validate'), retries(messageId)],
  'POST /api/v1/emails/batch': [
    ...sends('batch', (mail) => ({ emails: [mail] }) as JsonObject),
    retries(messageId, (mail) => ({ emails: [mail] }) as JsonObject),
  ],
  'GET /api/v1/emails': [
    {
      what: 'recipient',
      theirs: () => 'ann@example.net',
      nobodys: () => 'anm@example.net',
      request: (recipient) => ({ recipient }),
    },
    { ...DOMAIN, request: (domain) => ({ domain }) },
    { ...TENANT, request: (tenant_id) => ({ tenant_id }) },
  ],
  'GET /api/v1/refused-sends': [
    {
      what: 'recipient',
      theirs: () => 'ann@example.net',
      nobodys: () => 'anm@example.net',
      request: (recipient) => ({ recipient }),
    },
  ],
  'GET /api/v1/emails/{id}': [
    { what: 'id', theirs: messageId, nobodys: () => like(messageId()), request: (id) => ({ id }) },
  ],
  'GET /api/v1/emails/{id}/receipt': [
    { what: 'id', theirs: messageId, nobodys: () => like(messageId()), request: (id) => ({ id }) },
  ],
  'GET /api/v1/events': [
    {
      what: 'message_id',
      theirs: messageId,
      nobodys: () => like(messageId()),
      request: (message_id) => ({ message_id }),
    },
    {
      what: 'recipient',
      theirs: () => 'ann@example.net',
      nobodys: () => 'anm@example.net',
      request: (recipient) => ({ recipient }),
    },
    { ...TENANT, request: (tenant_id) => ({ tenant_id }) },
  ],
  'GET /api/v1/events/changes': [
    {
      what: 'message_id',
      theirs: messageId,
      nobodys: () => like(messageId()),
      request: (message_id) => ({ after: 'begin', message_id }),
    },
    {
      what: 'recipient',
      theirs: () => 'ann@example.net',
      nobodys: () => 'anm@example.net',
      request: (recipient) => ({ after: 'begin', recipient }),
    },
    // The events of the probes before have this tenant, and their own positions.
    { ...TENANT, request: (tenant_id) => ({ tenant_id }) },
  ],
  'GET /api/v1/events/{event_id}': [event(eventId)],
  'POST /api/v1/events/{event_id}/replay': [
    event(eventId),
    { ...endpoint(endpointId), request: (endpoint_id) => ({ event_id: eventId(), endpoint_id }) },
  ],
  'POST /api/v1/messages/{message_id}/replay': [
    {
      what: 'message_id',
      theirs: messageId,
      nobodys: () => like(messageId()),
      request: (message_id) => ({ message_id }),
    },
    { ...endpoint(endpointId), request: (endpoint_id) => ({ message_id: messageId(), endpoint_id }) },
  ],
  // These calls know only the endpoint of the calling account.
  'GET /api/v1/webhook': [],
  'PUT /api/v1/webhook': [],
  'DELETE /api/v1/webhook': [],
  'POST /api/v1/webhook/test': [],
  'POST /api/v1/webhook/secret/rotate': [],
  'GET /api/v1/webhooks': [],
  'POST /api/v1/webhooks': [],
  'GET /api/v1/webhooks/{endpoint_id}': [endpoint(endpointId)],
  'PATCH /api/v1/webhooks/{endpoint_id}': [endpoint(endpointId, { description: 'mine' })],
  'DELETE /api/v1/webhooks/{endpoint_id}': [endpoint(endpointId)],
  'POST /api/v1/webhooks/{endpoint_id}/test': [endpoint(endpointId)],
  'POST /api/v1/webhooks/{endpoint_id}/secret/rotate': [endpoint(endpointId)],
  'GET /api/v1/domains': [],
  // An account can add either address.
  'POST /api/v1/domains': [
    { what: 'domain', theirs: () => 'theirs.test', nobodys: () => 'thfirs.test', request: (domain) => ({ domain }) },
  ],
  'GET /api/v1/domains/{id}': [domain(domainId)],
  'PATCH /api/v1/domains/{id}': [domain(domainId, { require_tls: true })],
  'DELETE /api/v1/domains/{id}': [domain(domainId)],
  'POST /api/v1/domains/{id}/verify': [domain(domainId)],
  'POST /api/v1/domains/{id}/dkim/rotate': [domain(domainId)],
  'GET /api/v1/stats': [
    { ...DOMAIN, request: (domain) => ({ domain }) },
    { ...TENANT, theirs: () => 'acme-2', nobodys: () => 'acmf-2', request: (tenant_id) => ({ tenant_id }) },
  ],
  'POST /api/v1/suppression/import': [
    { ...suppressed('import'), what: 'emails', request: (email) => ({ emails: [email] }) },
    { ...TENANT, request: (tenant_id) => ({ tenant_id, emails: ['tom@example.net'] }) },
    { ...IMPORT, request: (import_id) => ({ import_id, emails: [`of-${import_id}@example.net`] }) },
  ],
  'GET /api/v1/suppression': [
    { ...suppressed('list'), request: (email) => ({ email }) },
    { ...TENANT, request: (tenant_id) => ({ tenant_id, email: 'a-list-rest@example.net' }) },
    { ...DOMAIN, request: (domain) => ({ domain }) },
  ],
  'POST /api/v1/suppression': [
    { ...suppressed('add'), request: (email) => ({ email }) },
    { ...TENANT, request: (tenant_id) => ({ tenant_id, email: 'tim@example.net' }) },
  ],
  'POST /api/v1/suppression/lift': [
    { ...TENANT, request: (tenant_id) => ({ tenant_id, ...EVER }) },
    { ...DOMAIN, request: (domain) => ({ domain, ...EVER }) },
  ],
  'DELETE /api/v1/suppression/imports/{import_id}': [{ ...IMPORT, request: (import_id) => ({ import_id }) }],
  'DELETE /api/v1/suppression/{email}': [
    { ...suppressed('remove'), request: (email) => ({ email }) },
    { ...TENANT, request: (tenant_id) => ({ tenant_id, email: 'a-remove-rest@example.net' }) },
  ],
  // These calls take no identifier.
  'GET /api/v1/account': [],
  'GET /api/v1/limits': [],
})

const retries = (
  messageId: () => string,
  request: (mail: object) => JsonObject = (mail) => mail as JsonObject,
): Probe => ({
  what: 'retry_of',
  theirs: messageId,
  nobodys: () => like(messageId()),
  request: (retry_of) => request(mail({ retry_of })),
})
const event = (eventId: () => string): Probe => ({
  what: 'event_id',
  theirs: eventId,
  nobodys: () => like(eventId()),
  request: (event_id) => ({ event_id }),
})

const endpoint = (endpointId: () => string, more: JsonObject = {}): Probe => ({
  what: 'endpoint_id',
  theirs: endpointId,
  nobodys: () => like(endpointId()),
  request: (endpoint_id) => ({ endpoint_id, ...more }),
})

const domain = (domainId: () => string, more: JsonObject = {}): Probe => ({
  what: 'id',
  theirs: domainId,
  nobodys: () => like(domainId()),
  request: (id) => ({ id, ...more }),
})

/** Returns an id with the same time and other random bits. */
const like = (id: string) => id.slice(0, -8) + [...id.slice(-8)].map((char) => (char === '0' ? '1' : '0')).join('')

import { type DescField, ScalarType } from '@bufbuild/protobuf'
import { REQUEST_LIMITS } from '../../server/config/limits.ts'
import { EVENT_KINDS } from '../../server/db/event-kinds.ts'
import { CONTENT_ID, CONTENT_TYPE_FIELD } from '../../server/sending/attachments.ts'
import { MESSAGE_LIMITS } from '../../server/sending/message.ts'
import { ENDPOINT_LIMITS } from '../../server/services/endpoint-fields.ts'
import { MAX_WAIT_S } from '../../server/services/events/event-changes.ts'
import { MOST_SUBJECT_CHARACTERS } from '../../server/services/listing/filters.ts'
import { MAX_LIMIT } from '../../server/services/listing/pages.ts'
import { MAX_ENTRIES } from '../../server/services/suppression.ts'
import type { Schema } from './schema.ts'
import { TIME_PATTERN } from './time-pattern.ts'

/** Limits of a request field: keywords for the list or map itself, and for its elements or the single value. */
export interface FieldBounds {
  whole?: Schema
  value?: Schema
  /** Set for a field with presence that validation requires, and for one without that it does not. */
  required?: boolean
}

const TEXT: FieldBounds = { value: { minLength: 1 } }
const PAGE_SIZE: FieldBounds = { value: { minimum: 1, maximum: MAX_LIMIT } }
const TENANT_ID: FieldBounds = { value: { minLength: 1, maxLength: MESSAGE_LIMITS.tenantIdCharacters } }
const TAG: FieldBounds = { value: { minLength: 1, maxLength: MESSAGE_LIMITS.tagCharacters } }
const idPattern = (prefix: string) => `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`
const IMPORT_ID: FieldBounds = { value: { pattern: idPattern('imp') } }
const EVENT_KIND: Schema = { enum: [...EVENT_KINDS] }
const TIME: FieldBounds = { value: { pattern: TIME_PATTERN } }
// JSON Schema counts characters, validation counts bytes. Every body within the bytes is within the characters.
const BODY: FieldBounds = { value: { maxLength: MESSAGE_LIMITS.bodyBytes } }

const METADATA: FieldBounds = {
  whole: { maxProperties: MESSAGE_LIMITS.metadataPairs, propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,40}$' } },
  value: { maxLength: MESSAGE_LIMITS.metadataValueCharacters },
}
const MESSAGE: Record<string, FieldBounds> = {
  to: { whole: { minItems: 1 }, value: { minLength: 1 } },
  cc: { value: { minLength: 1 } },
  bcc: { value: { minLength: 1 } },
  // JSON Schema cannot say "unless there is raw". Subjects may be longer as encoded words.
  from: { required: false },
  subject: { required: false },
  html: BODY,
  text: BODY,
  reply_to: { whole: { maxItems: MESSAGE_LIMITS.replyTo }, value: { minLength: 1 } },
  attachments: { whole: { maxItems: MESSAGE_LIMITS.attachments } },
  headers: {
    whole: { maxProperties: MESSAGE_LIMITS.headers, propertyNames: { pattern: '^[!-9;-~]{1,76}$' } },
    value: { maxLength: MESSAGE_LIMITS.referencesCharacters },
  },
  tenant_id: TENANT_ID,
  metadata: METADATA,
  tag: TAG,
  retry_of: { value: { pattern: idPattern('msg') } },
  raw: {},
}

const FILTER: Schema = { maxItems: ENDPOINT_LIMITS.filterValues }
const ENDPOINT = {
  url: { value: { minLength: 1, maxLength: 2_048, format: 'uri' } },
  description: { value: { maxLength: ENDPOINT_LIMITS.descriptionCharacters } },
  events: { value: EVENT_KIND },
  statuses: {},
  tags: { whole: FILTER, ...TAG },
  tenant_ids: { whole: FILTER, ...TENANT_ID },
  domains: { whole: FILTER, ...TEXT },
} satisfies Record<string, FieldBounds>

/**
 * The limits of request fields, by message and field, made of the constants that validation uses. Where JSON Schema
 * cannot express a rule, the schema is wider than validation, never narrower.
 */
const BOUNDS: Record<string, Record<string, FieldBounds>> = {
  SendRequest: MESSAGE,
  BatchItem: { ...MESSAGE, idempotency_key: { value: { pattern: '^[ -~]{1,256}$' } } },
  SendBatchRequest: { emails: { whole: { minItems: 1, maxItems: REQUEST_LIMITS.batchEmails } } },
  Attachment: {
    filename: { value: { minLength: 1, maxLength: MESSAGE_LIMITS.filenameCharacters } },
    content: { required: true },
    content_type: { value: { pattern: CONTENT_TYPE_FIELD.source } },
    content_id: { value: { pattern: CONTENT_ID.source } },
  },
  ListEmailsRequest: {
    recipient: {},
    sender: {},
    recipient_domain: TEXT,
    bounced_by: TEXT,
    subject: { value: { minLength: 1, maxLength: MOST_SUBJECT_CHARACTERS } },
    metadata: METADATA,
    domain: TEXT,
    tag: TAG,
    tenant_id: TENANT_ID,
    from: TIME,
    to: TIME,
    limit: PAGE_SIZE,
    cursor: TEXT,
  },
  ListRefusedSendsRequest: { recipient: {}, from: TIME, to: TIME, limit: PAGE_SIZE, cursor: TEXT },
  GetEmailRequest: { id: TEXT },
  GetReceiptRequest: { id: TEXT },
  ListEventsRequest: {
    message_id: {},
    recipient: {},
    tenant_id: {},
    from: TIME,
    to: TIME,
    limit: PAGE_SIZE,
    cursor: TEXT,
    tag: TAG,
    event: { value: EVENT_KIND },
  },
  ListChangesRequest: {
    after: {},
    message_id: {},
    recipient: {},
    tenant_id: {},
    tag: TAG,
    event: { value: EVENT_KIND },
    limit: PAGE_SIZE,
    wait_s: { value: { maximum: MAX_WAIT_S } },
  },
  GetEventRequest: { event_id: TEXT },
  ReplayEventRequest: { event_id: TEXT, endpoint_id: TEXT },
  ReplayMessageRequest: { message_id: TEXT, endpoint_id: TEXT },
  PutWebhookRequest: { url: ENDPOINT.url, events: ENDPOINT.events, statuses: ENDPOINT.statuses },
  CreateEndpointRequest: ENDPOINT,
  GetEndpointRequest: { endpoint_id: TEXT },
  UpdateEndpointRequest: { ...ENDPOINT, endpoint_id: TEXT },
  DeleteEndpointRequest: { endpoint_id: TEXT },
  TestEndpointRequest: { endpoint_id: TEXT },
  RotateEndpointSecretRequest: { endpoint_id: TEXT },
  CreateDomainRequest: { domain: TEXT },
  GetDomainRequest: { id: TEXT },
  UpdateDomainRequest: { id: TEXT, pool: {} },
  DeleteDomainRequest: { id: TEXT },
  VerifyDomainRequest: { id: TEXT },
  RotateDkimRequest: { id: TEXT },
  GetStatsRequest: { from: TIME, to: TIME, domain: {}, tenant_id: TENANT_ID },
  SuppressionServiceImportRequest: {
    emails: { whole: { minItems: 1, maxItems: REQUEST_LIMITS.importAddresses } },
    tenant_id: TENANT_ID,
    import_id: IMPORT_ID,
  },
  SuppressionServiceUndoImportRequest: { import_id: TEXT },
  SuppressionServiceListRequest: {
    email: TEXT,
    tenant_id: TENANT_ID,
    limit: { value: { minimum: 1, maximum: MAX_ENTRIES } },
    cursor: TEXT,
    created_from: TIME,
    created_to: TIME,
    domain: {},
  },
  SuppressionServiceLiftRequest: {
    created_from: { ...TIME, required: true },
    created_to: { ...TIME, required: true },
    domain: {},
    tenant_id: TENANT_ID,
  },
  SuppressionServiceAddRequest: { email: TEXT, tenant_id: TENANT_ID },
  SuppressionServiceRemoveRequest: { email: TEXT, tenant_id: TENANT_ID },
}

/** The limits of a request field. Throws when a field that needs them is missing from the table. */
export function boundsOf(field: DescField): FieldBounds {
  const bounds = BOUNDS[field.parent.name]?.[field.jsonName]
  if (!bounds && (field.fieldKind === 'list' || field.fieldKind === 'map' || BOUNDED.includes(field.scalar))) {
    throw new Error(
      `${field.parent.name}.${field.jsonName} needs its limits in dev/openapi/bounds.ts ({} when it has none)`,
    )
  }
  return bounds ?? {}
}

const BOUNDED: (ScalarType | undefined)[] = [ScalarType.STRING, ScalarType.BYTES, ScalarType.UINT32, ScalarType.INT32]

import type { JsonValue } from '@bufbuild/protobuf'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { AttemptOutcomeSchema, DispatchKindSchema, DispatchStateSchema } from '../../gen/verdict/v1/events_pb.ts'
import {
  DeliveryStatusSchema,
  FeedbackKindSchema,
  ReasonSchema,
  RecipientKindSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import {
  bigint,
  boolean,
  check,
  customType,
  date,
  getTableColumns,
  getTableName,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  smallint,
  sql,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from './drizzle.ts'
import { shortNames } from './enum-names.ts'
import { EVENT_KINDS } from './event-kinds.ts'
import type { AttemptPhases, RecordCheck, SiteBook, StoredRequest } from './json-columns.ts'
import { LATENCY_COLUMNS } from './latency-buckets.ts'
import { matchingSql, recipientDomainSql } from './matching-sql.ts'
import { MENTIONS } from './mentions.ts'

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 })
export const count = (name: string) => integer(name).notNull().default(0)

/** The check that a column declared with `enum` holds one of those values. Its name is `<table>_<column>`. */
export function checkOneOf({ table, name }: PgColumn) {
  const { enumValues } = Object.values(getTableColumns(table)).find((column) => column.name === name)!
  const values = enumValues!.map((value) => `'${value}'`)
  return check(`${getTableName(table)}_${name}`, sql.raw(`${name} in (${values.join(', ')})`))
}

const STATUSES = shortNames(DeliveryStatusSchema)
const REASONS = shortNames(ReasonSchema)
const RECIPIENT_KINDS = shortNames(RecipientKindSchema)
const FEEDBACK_KINDS = shortNames(FeedbackKindSchema)

const DISPATCH_KINDS = shortNames(DispatchKindSchema)
/** The states of a dispatch in history, where none is waiting. */
const ENDED_DISPATCH_STATES = shortNames(DispatchStateSchema).filter((state) => state !== 'waiting') as [string]
const ATTEMPT_OUTCOMES = shortNames(AttemptOutcomeSchema)

// Accounts, their keys and their domains.

export const accounts = pgTable('accounts', {
  id: uuid().primaryKey(),
  name: text().notNull(),
  /** A tier of the limits; null takes the operator's default. */
  tier: text(),
  createdAt: at('created_at').notNull().defaultNow(),
})

export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    name: text().notNull(),
    /** The key's first characters, by which a person recognises it. */
    hint: text().notNull(),
    /** SHA-256 of the whole key. The key itself is not stored. */
    hash: bytea().notNull(),
    test: boolean().notNull(),
    scopes: text().array().notNull(),
    /** The person who created it; null for a key of the operator. Stays when the person is removed. */
    createdBy: uuid('created_by'),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at'),
    revokedAt: at('revoked_at'),
    lastUsedAt: at('last_used_at'),
  },
  (t) => [uniqueIndex('api_keys_hash').on(t.hash), index('api_keys_account').on(t.accountId)],
)

export const domains = pgTable(
  'domains',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    /** Lower case, A-labels, no dot at the end. */
    name: text().notNull(),
    status: text({ enum: ['pending', 'verified', 'failed', 'lapsed'] }).notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    verifiedAt: at('verified_at'),
    /** Whether the daily volume is limited in the days after `verified_at`. */
    warmsUp: boolean('warms_up').notNull().default(true),
    /** Whether its mail may only leave over TLS with a valid certificate. */
    requiresTls: boolean('requires_tls').notNull().default(false),
    /** The pool of addresses that its mail leaves from; null takes that of the account's tier. */
    pool: text(),
    /** What DNS had at the last check, by the `check` of a DnsRecord; null before the first check. */
    checks: json().$type<Record<string, RecordCheck>>(),
    checkedAt: at('checked_at'),
    /** When DNS is checked again; null when an operator vouches for the domain. */
    nextCheckAt: at('next_check_at'),
    /** The time of the first failed check after the last passed one. */
    failingSince: at('failing_since'),
  },
  (t) => [
    uniqueIndex('domains_account_name').on(t.accountId, t.name),
    // A verified name belongs to one account.
    uniqueIndex('domains_verified_name').on(t.name).where(sql`status = 'verified'`),
    index('domains_next_check').on(t.nextCheckAt).where(sql`next_check_at is not null`),
    checkOneOf(t.status),
  ],
)

export const dkimKeys = pgTable(
  'dkim_keys',
  {
    id: uuid().primaryKey(),
    domainId: uuid('domain_id')
      .notNull()
      .references(() => domains.id, { onDelete: 'cascade' }),
    selector: text().notNull(),
    algorithm: text({ enum: ['rsa', 'ed25519'] }).notNull(),
    /** PKCS #8 DER, sealed: see encryption.ts. */
    privateKey: bytea('private_key').notNull(),
    /** SPKI DER. */
    publicKey: bytea('public_key').notNull(),
    /** `next`: shown, signs nothing until DNS has its record. `retired`: signs nothing, its record stays published. */
    state: text({ enum: ['next', 'active', 'retired'] })
      .notNull()
      .default('active'),
    /** When a retired key is deleted; its record may go then. */
    retiresAt: at('retires_at'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [uniqueIndex('dkim_keys_selector').on(t.domainId, t.selector), checkOneOf(t.algorithm), checkOneOf(t.state)],
)

/** The keys that sign receipts: see server/receipts/receipt-keys.ts. The public keys of all are shown for ever. */
export const receiptKeys = pgTable('receipt_keys', {
  id: uuid().primaryKey(),
  /** PKCS #8 DER, sealed: see encryption.ts. null some time after a newer key has begun to sign. */
  privateKey: bytea('private_key'),
  /** SPKI DER. */
  publicKey: bytea('public_key').notNull(),
  createdAt: at('created_at').notNull().defaultNow(),
})

// Erasure: see erasure/erase.ts.

/** The key of the hashes that replace erased addresses. One row, stored by the first erasure. */
export const erasureKeys = pgTable('erasure_keys', {
  id: uuid().primaryKey(),
  /** 32 bytes, sealed: see encryption.ts. */
  key: bytea().notNull(),
  createdAt: at('created_at').notNull().defaultNow(),
})

/** Erasures of an address, begun and finished. They name the address only by what has replaced it. */
export const erasures = pgTable(
  'erasures',
  {
    id: uuid().primaryKey(),
    /** What has replaced the address: see server/reputation/erased-form.ts. */
    erased: text().notNull(),
    /** null for all accounts. */
    accountId: uuid('account_id'),
    /** Its progress: every row before this block of this table is done. */
    place: text().notNull().default(''),
    block: integer().notNull().default(0),
    /** The changed rows, by account and table. */
    counts: json().$type<Record<string, Record<string, number>>>().notNull(),
    startedAt: at('started_at').notNull().defaultNow(),
    /** null while it runs, and after it was interrupted. */
    finishedAt: at('finished_at'),
  },
  (t) => [index('erasures_erased').on(t.erased)],
)

// Running sends. These tables are small, and empty when nothing runs. Only the sweeper looks for old rows in them.

export const openMessages = pgTable('open_messages', {
  id: uuid().primaryKey(),
  accountId: uuid('account_id').notNull(),
  /** Identifies the owner of the send: the process that claimed it, or the sweeper that took it over. */
  claim: uuid().notNull(),
  leaseUntil: at('lease_until').notNull(),
  createdAt: at('created_at').notNull(),
  tenantId: text('tenant_id'),
  region: text().notNull(),
  request: json().$type<StoredRequest>().notNull(),
  /** The sending domain, for statistics and warm-up. */
  domain: text().notNull().default(''),
  /** The idempotency key that this send has taken. It is freed when the message is deleted without a trace. */
  keyScope: text('key_scope'),
  key: text(),
  /** The emails that this send has taken from the warm-up of a day. They are given back when the key is freed. */
  warmUpDay: date('warm_up_day'),
  warmUpEmails: integer('warm_up_emails'),
  /** The same for the quota of a month, which its first day names. */
  quotaMonth: date('quota_month'),
  quotaEmails: integer('quota_emails'),
})

export const openRecipients = pgTable(
  'open_recipients',
  {
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    position: smallint().notNull(),
    eventId: uuid('event_id').notNull(),
    email: text().notNull(),
    kind: text({ enum: RECIPIENT_KINDS }).notNull().default('to'),
    // Repeated from the message: the marker's condition must be on the very row that it updates.
    claim: uuid().notNull(),
    leaseUntil: at('lease_until').notNull(),
    /** Set just before the final dot: after that the message may have arrived. */
    markedAt: at('marked_at'),
  },
  (t) => [primaryKey({ columns: [t.messageId, t.position] }), checkOneOf(t.kind)],
)

// History: rows are inserted once and never changed. Partitioned by the time in the id; a day is dropped after 90 days.

export const messages = pgTable(
  'messages',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id').notNull(),
    status: text({ enum: STATUSES }).notNull(),
    reason: text({ enum: REASONS }),
    sandbox: boolean().notNull(),
    tenantId: text('tenant_id'),
    region: text().notNull(),
    /** The domain of From. */
    domain: text().notNull().default(''),
    tag: text(),
    sizeBytes: integer('size_bytes').notNull(),
    /** SHA-256 of the message as it went out; null when nothing went out. */
    digest: bytea(),
    createdAt: at('created_at').notNull(),
    completedAt: at('completed_at').notNull(),
    request: json().$type<StoredRequest>().notNull(),
    /** The checks of a dry run, as JSON of a list of `verdict.v1.Check`. */
    checks: json().$type<JsonValue[]>(),
  },
  (t) => [
    // One for each filter of a list. Each ends in the id, so a page reads no more rows than it returns. Most sends have
    // only the first two: status and reason index what failed, the others what carries the field.
    index('messages_account').on(t.accountId, t.id),
    index('messages_domain').on(t.accountId, t.domain, t.id),
    index('messages_status').on(t.accountId, t.status, t.id).where(sql`status <> 'delivered'`),
    index('messages_reason').on(t.accountId, t.reason, t.id).where(sql`reason is not null`),
    index('messages_tenant').on(t.accountId, t.tenantId, t.id).where(sql`tenant_id is not null`),
    index('messages_tag').on(t.accountId, t.tag, t.id).where(sql`tag is not null`),
    // Words of the subject and pairs of the metadata. Its rows have no order: see services/emails/newest-with-terms.ts.
    index('messages_terms').using('gin', sql`message_terms(account_id, request)`),
    index('messages_sandbox').on(t.accountId, t.id).where(sql`sandbox`),
    index('messages_mentions').on(t.id).where(sql.raw(MENTIONS.messages)),
    checkOneOf(t.status),
    checkOneOf(t.reason),
  ],
)

export const recipients = pgTable(
  'recipients',
  {
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    position: smallint().notNull(),
    eventId: uuid('event_id').notNull(),
    email: text().notNull(),
    kind: text({ enum: RECIPIENT_KINDS }).notNull().default('to'),
    status: text({ enum: STATUSES }).notNull(),
    reason: text({ enum: REASONS }),
    retryable: boolean().notNull(),
    inDoubt: boolean('in_doubt').notNull(),
    /** The evidence, as JSON of `verdict.v1.SmtpEvidence`. */
    smtp: json().$type<JsonValue>(),
    /** The entry that suppressed the recipient, as JSON of `verdict.v1.Suppression`. */
    suppression: json().$type<JsonValue>(),
    /** The fault of this service that kept the recipient from being tried; null without one. */
    detail: text(),
  },
  (t) => [
    primaryKey({ columns: [t.messageId, t.position] }),
    // Emails are listed by recipient.
    index('recipients_email').on(t.accountId, sql.raw(matchingSql('email')), t.messageId),
    index('recipients_domain').on(t.accountId, sql.raw(recipientDomainSql('email')), t.messageId),
    index('recipients_mentions').on(t.messageId).where(sql.raw(MENTIONS.recipients)),
    checkOneOf(t.kind),
    checkOneOf(t.status),
    checkOneOf(t.reason),
  ],
)

export const events = pgTable(
  'events',
  {
    id: uuid().primaryKey(),
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    event: text({ enum: EVENT_KINDS }).notNull().default('email.delivery'),
    status: text({ enum: STATUSES }).notNull(),
    reason: text({ enum: REASONS }),
    recipient: text().notNull(),
    kind: text({ enum: RECIPIENT_KINDS }).notNull().default('to'),
    tenantId: text('tenant_id'),
    sandbox: boolean().notNull(),
    tag: text(),
    metadata: json().$type<Record<string, string>>(),
    /** What a feedback event reports, and the text of the report. null for a delivery event. */
    feedback: text({ enum: FEEDBACK_KINDS }),
    detail: text(),
    /** How the report was read, and whether another mailbox failed: see `feedback`. */
    evidence: json().$type<JsonValue>(),
    isMember: boolean('is_member').notNull().default(false),
    /** The version of the event's webhook payload: see webhooks/attempt/payload.ts. */
    payload: smallint().notNull().default(1),
    createdAt: at('created_at').notNull(),
    /** The place in the event stream, before the id: see event-order.ts, which sets the default. */
    streamOrder: bigint('stream_order', { mode: 'number' }).notNull().default(0),
  },
  (t) => [
    // One for each filter of a list, as for messages.
    index('events_account').on(t.accountId, t.id),
    index('events_recipient').on(t.accountId, sql.raw(matchingSql('recipient')), t.id),
    index('events_status').on(t.accountId, t.status, t.id).where(sql`status <> 'delivered'`),
    index('events_reason').on(t.accountId, t.reason, t.id).where(sql`reason is not null`),
    index('events_tenant').on(t.accountId, t.tenantId, t.id).where(sql`tenant_id is not null`),
    index('events_tag').on(t.accountId, t.tag, t.id).where(sql`tag is not null`),
    index('events_sandbox').on(t.accountId, t.id).where(sql`sandbox`),
    index('events_feedback').on(t.accountId, t.id).where(sql`event = 'email.feedback'`),
    index('events_mentions').on(t.id).where(sql.raw(MENTIONS.events)),
    index('events_stream').on(t.accountId, t.streamOrder, t.id).where(sql`stream_order > 0`),
    checkOneOf(t.event),
    checkOneOf(t.status),
    checkOneOf(t.reason),
    checkOneOf(t.kind),
    checkOneOf(t.feedback),
  ],
)

/** Ended runs of the retry schedule. The original dispatch to the account's first endpoint has the event's id. */
export const dispatches = pgTable(
  'dispatches',
  {
    id: uuid().primaryKey(),
    eventId: uuid('event_id').notNull(),
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    kind: text({ enum: DISPATCH_KINDS }).notNull(),
    state: text({ enum: ENDED_DISPATCH_STATES }).notNull(),
    workflowId: text('workflow_id'),
    createdAt: at('created_at').notNull(),
    endedAt: at('ended_at').notNull(),
  },
  (t) => [
    // The usual dispatch has the event's id, and never enters it.
    index('dispatches_event').on(t.eventId).where(sql`id <> event_id`),
    checkOneOf(t.kind),
    checkOneOf(t.state),
  ],
)

/** Ended POSTs of events. One number may have several rows: attempts with an unknown end, and the last attempt. */
export const attempts = pgTable(
  'attempts',
  {
    dispatchId: uuid('dispatch_id').notNull(),
    accountId: uuid('account_id').notNull(),
    number: smallint().notNull(),
    startedAt: at('started_at').notNull(),
    /** null for the outcome `unknown`. */
    finishedAt: at('finished_at'),
    outcome: text({ enum: ATTEMPT_OUTCOMES }).notNull(),
    /** The version of the endpoint's URL that was posted to; null when it is not known. */
    urlVersion: integer('url_version'),
    statusCode: smallint('status_code'),
    /** The code of a cause without a response: see webhooks/post/causes.ts. */
    cause: text(),
    /** Where a redirect leads: the beginning of `Location`. */
    location: text(),
    phases: json().$type<AttemptPhases>(),
    /** The first 1,024 octets of the response, decoded as UTF-8. */
    excerpt: text(),
    excerptCut: boolean('excerpt_cut').notNull().default(false),
    nextAttemptAt: at('next_attempt_at'),
  },
  (t) => [primaryKey({ columns: [t.dispatchId, t.number, t.startedAt] }), checkOneOf(t.outcome)],
)

/** The history tables, each with the column whose time determines the partition. */
export const HISTORY = {
  messages: 'id',
  recipients: 'message_id',
  events: 'id',
  dispatches: 'id',
  attempts: 'dispatch_id',
} as const

// Webhooks: the endpoints, and the runs of the retry schedule that have not ended.

/** The most endpoints of an account. */
export const MAX_ENDPOINTS = 10

export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    /** The endpoint of `/api/v1/webhook`. */
    first: boolean().notNull().default(false),
    url: text().notNull(),
    /** Counts the changes of the URL, from 1: see `webhook_urls`. */
    urlVersion: integer('url_version').notNull().default(1),
    description: text(),
    // The events that are pushed: of these kinds, with these statuses, of sends with one of these tags, tenants and
    // domains of From. null is no filter.
    events: text({ enum: EVENT_KINDS }).array().notNull().default(['email.delivery']),
    statuses: text({ enum: STATUSES }).array().notNull().default(STATUSES),
    tags: text().array(),
    tenantIds: text('tenant_ids').array(),
    domains: text().array(),
    /** Gets no new dispatches. */
    disabled: boolean().notNull().default(false),
    /** The whole secret as it is shown, `whsec_...`, sealed: see encryption.ts. */
    secret: bytea().notNull(),
    /** The secret before the last rotation, sealed. It also signs until `previous_until`. */
    previousSecret: bytea('previous_secret'),
    previousUntil: at('previous_until'),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (t) => [
    index('webhook_endpoints_account').on(t.accountId),
    uniqueIndex('webhook_endpoints_first').on(t.accountId).where(sql`first`),
  ],
)

/** The URLs that an endpoint has had, for the attempts that were made to them. */
export const webhookUrls = pgTable(
  'webhook_urls',
  {
    accountId: uuid('account_id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    version: integer().notNull(),
    url: text().notNull(),
    /** When another URL replaced it, or the endpoint was deleted. It is deleted 90 days later. */
    replacedAt: at('replaced_at'),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.version] })],
)

/** An endpoint's health by the hour: how many POSTs it acknowledged, and how many it did not. */
export const webhookHours = pgTable(
  'webhook_hours',
  {
    accountId: uuid('account_id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    hour: at('hour').notNull(),
    acknowledged: count('acknowledged'),
    failed: count('failed'),
    lastAcknowledgedAt: at('last_acknowledged_at'),
    lastFailedAt: at('last_failed_at'),
    /** Failures since the last acknowledgement of this hour. */
    failedSince: count('failed_since'),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.endpointId, t.hour] })],
)

/** Waiting dispatches. The table is small, and empty when every event is acknowledged at once. */
export const openDispatches = pgTable(
  'open_dispatches',
  {
    id: uuid().primaryKey(),
    eventId: uuid('event_id').notNull(),
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    kind: text({ enum: DISPATCH_KINDS }).notNull(),
    createdAt: at('created_at').notNull(),
    /** The number of the running attempt, or of the next one. */
    attempt: smallint().notNull().default(1),
    dueAt: at('due_at').notNull(),
    /** No attempt starts after this time. */
    deadlineAt: at('deadline_at').notNull(),
    /** Until this time the process that recorded the event makes the first attempt. */
    leaseUntil: at('lease_until'),
    /** When the running attempt of a workflow started; null between attempts. */
    startedAt: at('started_at'),
    /** The workflow that makes the further attempts. */
    workflowId: text('workflow_id'),
    /** Since when the workflow is known to be started. */
    handedOverAt: at('handed_over_at'),
    /** When its workflow was last looked up because an attempt was overdue. */
    lookedAt: at('looked_at'),
    /** The header of W3C Trace Context that its attempts continue; null without a trace. */
    traceparent: text(),
  },
  (t) => [
    // Most rows are acknowledged at their first attempt. Such a row never enters one of these indexes.
    index('open_dispatches_event').on(t.eventId).where(sql`id <> event_id`),
    index('open_dispatches_unassigned')
      .on(t.endpointId, t.attempt, t.dueAt)
      .where(sql`workflow_id is null and lease_until is null`),
    index('open_dispatches_workflow').on(t.workflowId).where(sql`workflow_id is not null`),
    index('open_dispatches_unstarted').on(t.workflowId).where(sql`workflow_id is not null and handed_over_at is null`),
    index('open_dispatches_overdue')
      .on(t.accountId, sql`greatest(due_at, looked_at)`)
      .where(sql`workflow_id is not null`),
    checkOneOf(t.kind),
  ],
)

// Idempotency: the message or batch that a key stands for. Rows expire after 24 hours.

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: uuid('account_id').notNull(),
    /** The method, and live or sandbox: see idempotency-key.ts. */
    scope: text().notNull(),
    key: text().notNull(),
    messageId: uuid('message_id').notNull(),
    /** SHA-256 of the first request. */
    requestHash: bytea('request_hash').notNull(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.scope, t.key] }), index('idempotency_keys_expiry').on(t.expiresAt)],
)

/** The keys of messages that came over SMTP, one for each recipient: see ledger/recipient-keys.ts. */
export const recipientKeys = pgTable(
  'recipient_keys',
  {
    accountId: uuid('account_id').notNull(),
    /** SHA-256 of what a repeat has in common with the message: see smtp-front/same-message.ts. */
    key: bytea().notNull(),
    /** A message with this key: what has retried it is in `retries`. */
    messageId: uuid('message_id').notNull(),
    position: smallint().notNull(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.key] }),
    index('recipient_keys_message').on(t.messageId),
    index('recipient_keys_expiry').on(t.expiresAt),
  ],
)

export const batchKeys = pgTable(
  'batch_keys',
  {
    accountId: uuid('account_id').notNull(),
    scope: text().notNull(),
    key: text().notNull(),
    requestHash: bytea('request_hash').notNull(),
    /** Identifies the owner of the batch while it runs. */
    claim: uuid().notNull(),
    leaseUntil: at('lease_until').notNull(),
    /** The whole response, `verdict.v1.SendBatchResponse` in binary; null while the batch runs or may run again. */
    answer: bytea(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.scope, t.key] }), index('batch_keys_expiry').on(t.expiresAt)],
)

/**
 * The recipients that were retried, each by one message: see ledger/retries.ts. Positions are those of recipients.
 * Kept for 90 days.
 */
export const retries = pgTable(
  'retries',
  {
    accountId: uuid('account_id').notNull(),
    retriedId: uuid('retried_id').notNull(),
    retriedPosition: smallint('retried_position').notNull(),
    /** The message that retries. Its id has the time. */
    messageId: uuid('message_id').notNull(),
    position: smallint().notNull(),
    /** The first message of the chain. Its envelope senders are those of the whole chain. */
    firstId: uuid('first_id').notNull(),
    /** The position in the first message that the envelope sender names. */
    senderPosition: smallint('sender_position').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.retriedId, t.retriedPosition] }),
    index('retries_message').on(t.messageId),
    index('retries_first').on(t.firstId),
  ],
)

// Reputation: suppression, feedback, warm-up, circuit breakers and statistics.

/** The account id of entries that apply to all accounts. */
export const EVERYBODY = '00000000-0000-0000-0000-000000000000'

export const suppressions = pgTable(
  'suppressions',
  {
    id: uuid().primaryKey(),
    /** `EVERYBODY` for a global entry. */
    accountId: uuid('account_id').notNull(),
    /** Empty for an entry that applies to the whole account. */
    tenantId: text('tenant_id').notNull(),
    /** The address in its matching form: lower case, A-labels. */
    email: text().notNull(),
    reason: text({ enum: ['bounce', 'complaint', 'import', 'manual'] }).notNull(),
    /** The message whose bounce or complaint created the entry. */
    messageId: uuid('message_id'),
    detail: text(),
    /** What the entry rests on, as JSON of `verdict.v1.Evidence`. null for one that no reply or report made. */
    evidence: json().$type<JsonValue>(),
    createdAt: at('created_at').notNull().defaultNow(),
    /** null for an entry that does not expire. */
    expiresAt: at('expires_at'),
    /** The import that made the entry, as long as nothing else would have: its undoing removes the entry. */
    importId: uuid('import_id'),
    /** The entry that would have expired, and that the import replaced. */
    replaced: json().$type<JsonValue>(),
  },
  (t) => [
    uniqueIndex('suppressions_email').on(t.accountId, t.email, t.tenantId),
    index('suppressions_account').on(t.accountId, t.id),
    index('suppressions_import').on(t.accountId, t.importId, t.email).where(sql`import_id is not null`),
    index('suppressions_expiry').on(t.expiresAt).where(sql`expires_at is not null`),
    checkOneOf(t.reason),
  ],
)

/** Refusals that count against an address: see reputation/incidents.ts. Kept for 90 days. */
export const refusals = pgTable(
  'refusals',
  {
    eventId: uuid('event_id').primaryKey(),
    accountId: uuid('account_id').notNull(),
    tenantId: text('tenant_id').notNull(),
    email: text().notNull(),
    kind: text({ enum: ['unknown', 'status', 'refused', 'full'] }).notNull(),
    /** The provider whose server refused, and whether the address took mail before. Empty for a report. */
    provider: text().notNull().default(''),
    proofOfLife: boolean('proof_of_life').notNull().default(false),
    /** It was refused in a bad hour of the provider, so it does not count: see reputation/bad-hours.ts. */
    inBadHour: boolean('in_bad_hour').notNull().default(false),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    index('refusals_email').on(t.accountId, t.email),
    index('refusals_created').on(t.createdAt),
    checkOneOf(t.kind),
  ],
)

/** Sends that ended with an error before there was an email: see sending/refused-sends.ts. Kept for 7 days. */
export const refusedSends = pgTable(
  'refused_sends',
  {
    /** Has the time of the refusal. */
    id: uuid().primaryKey(),
    accountId: uuid('account_id').notNull(),
    keyId: uuid('key_id'),
    requestId: text('request_id').notNull(),
    protocol: text({ enum: ['rest', 'grpc', 'grpc-web', 'connect', 'smtp', 'lmtp'] }).notNull(),
    error: text().notNull(),
    message: text().notNull(),
    fields: text().array().notNull(),
    sender: text(),
    recipients: text().array().notNull(),
    /** Equal ones of a minute are one row. */
    digest: text().notNull(),
    count: integer().notNull(),
  },
  (t) => [index('refused_sends_account').on(t.accountId, t.id), checkOneOf(t.protocol)],
)

/** How many refused sends of an account were not stored, by the hour. Kept for 7 days. */
export const unstoredRefusedSends = pgTable(
  'unstored_refused_sends',
  {
    accountId: uuid('account_id').notNull(),
    hour: at('hour').notNull(),
    sends: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.hour] })],
)

/** The hours in which a provider refuses addresses that exist: see reputation/bad-hours.ts. Kept for 90 days. */
export const badHours = pgTable(
  'bad_hours',
  {
    id: uuid().primaryKey(),
    provider: text().notNull(),
    beganAt: at('began_at').notNull(),
    /** null while it lasts. */
    endedAt: at('ended_at'),
  },
  (t) => [uniqueIndex('bad_hours_provider').on(t.provider).where(sql`ended_at is null`)],
)

/** The providers that refuse an account: see reputation/refusing-providers.ts. Kept for 90 days. */
export const refusingProviders = pgTable(
  'refusing_providers',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id').notNull(),
    provider: text().notNull(),
    beganAt: at('began_at').notNull(),
    /** null while it lasts. */
    endedAt: at('ended_at'),
  },
  (t) => [uniqueIndex('refusing_providers_open').on(t.accountId, t.provider).where(sql`ended_at is null`)],
)

/** Outcomes of an account at a provider, by the minute. A minute may have several rows. Kept for two hours. */
export const providerMinutes = pgTable(
  'provider_minutes',
  {
    accountId: uuid('account_id').notNull(),
    provider: text().notNull(),
    minute: at('minute').notNull(),
    outcomes: integer().notNull(),
    policyBlocks: integer('policy_blocks').notNull(),
  },
  (t) => [
    index('provider_minutes_minute').on(t.minute),
    index('provider_minutes_account').on(t.accountId, t.provider, t.minute),
    index('provider_minutes_blocked').on(t.minute).where(sql`policy_blocks > 0`),
  ],
)

/** Late bounces and complaints. They never change the state of a message. Kept for 90 days. Its id is its event's. */
export const feedback = pgTable(
  'feedback',
  {
    id: uuid().primaryKey(),
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    /** The address as the message has it. */
    recipient: text().notNull(),
    kind: text({ enum: FEEDBACK_KINDS }).notNull(),
    /** The reason of a late bounce; null for a complaint. */
    reason: text({ enum: REASONS }),
    /** The text of the report. */
    detail: text(),
    /** How the report was read, as JSON of `verdict.v1.Evidence`. null for one that an earlier version stored. */
    evidence: json().$type<JsonValue>(),
    /** Another mailbox failed than that of the recipient. */
    isMember: boolean('is_member').notNull().default(false),
    /** The circuit breaker counts it. */
    counted: boolean().notNull().default(true),
    reportedAt: at('reported_at').notNull().defaultNow(),
  },
  (t) => [
    // A report that arrives twice is stored once.
    uniqueIndex('feedback_report').on(t.messageId, sql.raw(matchingSql('recipient')), t.kind, t.isMember),
    index('feedback_reported').on(t.reportedAt),
    index('feedback_account').on(t.accountId, t.kind, t.messageId),
    checkOneOf(t.kind),
    checkOneOf(t.reason),
  ],
)

/** The emails of a domain that warms up, by the UTC day. */
export const warmUps = pgTable(
  'warm_ups',
  {
    accountId: uuid('account_id').notNull(),
    domain: text().notNull(),
    day: date().notNull(),
    emails: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.domain, t.day] })],
)

/** The emails of an account whose tier has a quota, by the UTC month, which its first day names. */
export const monthlyEmails = pgTable(
  'monthly_emails',
  {
    accountId: uuid('account_id').notNull(),
    month: date().notNull(),
    emails: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.month] })],
)

/**
 * What the processes that send from one address share at one site: see server/shaping/site-book.ts. A row that no
 * process has changed for an hour may go.
 */
export const siteBooks = pgTable(
  'site_books',
  {
    /** Empty for the addresses that the system chooses. */
    address: text().notNull(),
    site: text().notNull(),
    /** Grows with each change: a process changes only the version that it has read. */
    version: integer().notNull(),
    book: json().$type<SiteBook>().notNull(),
    /** Whether a process waits for a place that another one holds. */
    isContended: boolean('is_contended').notNull(),
    changedAt: at('changed_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.address, t.site] }),
    index('site_books_contended').on(t.address).where(sql`is_contended`),
  ],
)

/** The emails that an address which warms up has sent to a provider on the last UTC day on which it sent any. */
export const addressWarmUps = pgTable(
  'address_warm_ups',
  {
    address: text().notNull(),
    provider: text().notNull(),
    /** The first UTC day. */
    startedOn: date('started_on').notNull(),
    day: date().notNull(),
    emails: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.address, t.provider] })],
)

/** Breakers that have ever opened. A domain without a row has a closed breaker. See breaker.ts. */
export const breakers = pgTable(
  'breakers',
  {
    accountId: uuid('account_id').notNull(),
    domain: text().notNull(),
    state: text({ enum: ['open', 'half_open', 'closed'] }).notNull(),
    cause: text({ enum: ['bounces', 'complaints'] }).notNull(),
    changedAt: at('changed_at').notNull(),
    /** What the hour of the last change had counted before it. The rates after the change leave it out. */
    baseEmails: integer('base_emails').notNull(),
    baseBounces: integer('base_bounces').notNull(),
    baseComplaints: integer('base_complaints').notNull(),
    /** The current minute while half open, and the emails that were admitted in it. */
    minute: at('minute'),
    admitted: integer().notNull().default(0),
    /** When a person last ended a pause. */
    resumedAt: at('resumed_at'),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.domain] }), checkOneOf(t.state), checkOneOf(t.cause)],
)

export const STATS_COUNTS: readonly string[] = [
  'delivered',
  ...REASONS,
  'complaints',
  'late_bounces',
  'uncounted_complaints',
  'uncounted_late_bounces',
  'in_doubt',
  ...LATENCY_COLUMNS,
]

/**
 * Statistics by the hour, counted in the commit of the outcome: one row for a whole domain (empty tenant) and one for
 * each tenant. What is not delivered is counted by its reason. The buckets of latency-buckets.ts count delivered and
 * bounced emails. Commits that run at the same time count in different shards, so that none waits for another. When the
 * hour is over, its shards are added up in shard 0. From then on only the busiest tenants of an account keep rows of
 * their own: see merge-statistics.ts. A day that is over has a row with its sums: see day-statistics.ts.
 */
export const hourlyStats = pgTable(
  'hourly_stats',
  {
    accountId: uuid('account_id').notNull(),
    tenantId: text('tenant_id').notNull(),
    hour: at('hour').notNull(),
    domain: text().notNull(),
    shard: smallint().notNull().default(0),
    ...Object.fromEntries(STATS_COUNTS.map((name) => [name, count(name)])),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.tenantId, t.hour, t.domain, t.shard] }),
    index('hourly_stats_shards').on(t.hour).where(sql`shard <> 0`),
  ],
)

/** The counts of a row that the breaker does not read. */
export const GROUP_COUNTS: readonly string[] = STATS_COUNTS.filter((name) => !name.startsWith('uncounted_'))

/**
 * What a commit has counted: a row for each email and for each report. It is added up within seconds, and deleted: see
 * open-statistics.ts. It has no index, which keeps a commit cheap.
 */
export const openStats = pgTable('open_stats', {
  accountId: uuid('account_id').notNull(),
  minute: at('minute').notNull(),
  /** Empty for a send without a tenant. */
  tenantId: text('tenant_id').notNull(),
  domain: text().notNull(),
  recipientDomain: text('recipient_domain').notNull(),
  /** See mailbox-provider.ts; empty when no mail server is known. */
  provider: text().notNull(),
  /** Empty for a send without a tag. */
  tag: text().notNull(),
  status: text({ enum: [...STATUSES, ...FEEDBACK_KINDS] }).notNull(),
  reason: text({ enum: REASONS }),
  inDoubt: boolean('in_doubt').notNull(),
  /** The bucket of latency-buckets.ts; null for a report. */
  bucket: smallint(),
})

/** Statistics by the minute, kept for two days. A minute may have several rows, which add up. */
export const minuteStats = pgTable(
  'minute_stats',
  {
    accountId: uuid('account_id').notNull(),
    /** As in `hourly_stats`. */
    tenantId: text('tenant_id').notNull(),
    minute: at('minute').notNull(),
    domain: text().notNull(),
    ...Object.fromEntries(GROUP_COUNTS.map((name) => [name, count(name)])),
  },
  (t) => [
    index('minute_stats_account').on(t.accountId, t.tenantId, t.minute),
    index('minute_stats_minute').on(t.minute),
  ],
)

/**
 * Statistics by the hour of the emails to one mailbox provider or recipient domain, or with one tag. An hour may have
 * several rows of a key, which add up. Once it is over they are merged, and only the busiest keys stay: the emails of
 * the others are counted in `hourly_stats` alone. No key is unique, so that an erasure can replace an address inside a
 * tag.
 */
export const groupStats = pgTable(
  'group_stats',
  {
    accountId: uuid('account_id').notNull(),
    groupedBy: text('grouped_by', { enum: ['provider', 'recipient_domain', 'tag'] }).notNull(),
    /** As in `hourly_stats`. */
    tenantId: text('tenant_id').notNull(),
    hour: at('hour').notNull(),
    domain: text().notNull(),
    key: text().notNull(),
    isMerged: boolean('is_merged').notNull().default(false),
    ...Object.fromEntries(GROUP_COUNTS.map((name) => [name, count(name)])),
  },
  (t) => [
    index('group_stats_account').on(t.accountId, t.groupedBy, t.tenantId, t.hour),
    index('group_stats_unmerged').on(t.hour).where(sql`not is_merged`),
    checkOneOf(t.groupedBy),
  ],
)

/** The requests in the current window of a caller, which is an account. A crash of PostgreSQL may lose them. */
export const rateWindows = pgTable('rate_windows', {
  caller: text().primaryKey(),
  startedAt: at('started_at').notNull(),
  used: integer().notNull(),
})

/**
 * One row that every readiness check writes: the proof that the database takes writes. Replicas show how far they are
 * behind by it.
 */
export const primaryHeartbeat = pgTable('primary_heartbeat', {
  id: smallint().primaryKey(),
  beatAt: at('beat_at').notNull(),
})

/** One row: the name of this installation's cell, once the operator has set it. */
export const cell = pgTable('cell', {
  id: smallint().primaryKey(),
  name: text().notNull(),
})

/** The database clusters that this database has been in, each with its own transaction ids: see event-order.ts. */
export const eventOrders = pgTable('event_orders', {
  epoch: integer().primaryKey(),
  /** The system identifier of the cluster. */
  cluster: text().notNull(),
  since: at('since').notNull().defaultNow(),
})

/** How many event streams of an account each process has open. A process that has ended renews nothing. */
export const streamLeases = pgTable(
  'stream_leases',
  {
    accountId: uuid('account_id').notNull(),
    process: uuid().notNull(),
    streams: integer().notNull(),
    until: at('until').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.process] })],
)

/** Locks that last longer than a transaction: see leases.ts. */
export const leases = pgTable('leases', {
  name: text().primaryKey(),
  /** The process that has it. */
  holder: uuid().notNull(),
  until: at('until').notNull(),
})

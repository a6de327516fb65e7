import { AttemptOutcomeSchema, DispatchKindSchema, DispatchStateSchema } from '../../gen/verdict/v1/events_pb.ts'
import { DeliveryStatusSchema, ReasonSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import { shortNames } from '../enum-names.ts'
import {
  boolean,
  check,
  customType,
  date,
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
import { LATENCY_COLUMNS } from './latency-buckets.ts'

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 })
const oneOf = (column: string, words: readonly string[]) =>
  sql.raw(`${column} in (${words.map((w) => `'${w}'`).join(', ')})`)

const count = (name: string) => integer(name).notNull().default(0)

const STATUSES = shortNames(DeliveryStatusSchema)
const REASONS = shortNames(ReasonSchema)

const DISPATCH_KINDS = shortNames(DispatchKindSchema)
/** What a dispatch of the history can be: it does not wait any more. */
const DISPATCH_ENDS = shortNames(DispatchStateSchema).filter((word) => word !== 'waiting')
const ATTEMPT_OUTCOMES = shortNames(AttemptOutcomeSchema)

// Who may call, and from which domains.

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
    /** The first characters, to recognise a key by. */
    hint: text().notNull(),
    /** SHA-256 of the whole key; the key itself is kept nowhere. */
    hash: bytea().notNull(),
    test: boolean().notNull(),
    scopes: text().array().notNull(),
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
    /** Lower case, A-labels, no last dot. */
    name: text().notNull(),
    status: text({ enum: ['pending', 'verified', 'failed', 'lapsed'] }).notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    verifiedAt: at('verified_at'),
    /** Whether the daily volume is limited in the days after `verified_at`. */
    warmsUp: boolean('warms_up').notNull().default(true),
    /** Whether its mail may only leave over TLS with a valid certificate. */
    requiresTls: boolean('requires_tls').notNull().default(false),
    /** What DNS had at the last check, by record: see verify.ts. */
    checks: json(),
    checkedAt: at('checked_at'),
    /** When DNS is asked again; null when an operator vouches for the domain. */
    nextCheckAt: at('next_check_at'),
    /** The first of the checks that fail since the last one that passed. */
    failingSince: at('failing_since'),
  },
  (t) => [
    uniqueIndex('domains_account_name').on(t.accountId, t.name),
    // A name that is verified belongs to one account.
    uniqueIndex('domains_verified_name').on(t.name).where(sql`status = 'verified'`),
    index('domains_next_check').on(t.nextCheckAt).where(sql`next_check_at is not null`),
    check('domains_status', oneOf('status', ['pending', 'verified', 'failed', 'lapsed'])),
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
    /** `next`: shown, and not signed with until its record is seen. `retired`: not signed with any more, and still published. */
    state: text({ enum: ['next', 'active', 'retired'] })
      .notNull()
      .default('active'),
    /** Of a retired key: when its record may go, and the key does. */
    retiresAt: at('retires_at'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('dkim_keys_selector').on(t.domainId, t.selector),
    check('dkim_keys_algorithm', oneOf('algorithm', ['rsa', 'ed25519'])),
    check('dkim_keys_state', oneOf('state', ['next', 'active', 'retired'])),
  ],
)

// Sends that are running. Small, and empty when nothing runs; only the sweeper looks for old rows here.

export const openMessages = pgTable('open_messages', {
  id: uuid().primaryKey(),
  accountId: uuid('account_id').notNull(),
  /** Whose send this is: the process that claimed it, or the sweeper that took it over. */
  claim: uuid().notNull(),
  leaseUntil: at('lease_until').notNull(),
  createdAt: at('created_at').notNull(),
  tenantId: text('tenant_id'),
  region: text().notNull(),
  /** What Get email shows of the request. */
  request: json().notNull(),
  /** The sending domain, for statistics and warm-up. */
  domain: text().notNull().default(''),
  /** The idempotency key this send has taken: it goes when the message goes without a trace. */
  keyScope: text('key_scope'),
  key: text(),
  /** How many emails of which day this send has taken of the warm-up: they are given back with the key. */
  warmUpDay: date('warm_up_day'),
  warmUpEmails: integer('warm_up_emails'),
})

export const openRecipients = pgTable(
  'open_recipients',
  {
    messageId: uuid('message_id').notNull(),
    position: smallint().notNull(),
    eventId: uuid('event_id').notNull(),
    email: text().notNull(),
    // Repeated from the message: the marker's condition must stand on the very row it updates.
    claim: uuid().notNull(),
    leaseUntil: at('lease_until').notNull(),
    /** Set just before the final dot: from then on the message may have arrived. */
    markedAt: at('marked_at'),
  },
  (t) => [primaryKey({ columns: [t.messageId, t.position] })],
)

// History: inserted once, never changed, dropped by the day after 90 days. Partitioned by the time in the id.

export const messages = pgTable(
  'messages',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id').notNull(),
    status: text().notNull(),
    reason: text(),
    sandbox: boolean().notNull(),
    tenantId: text('tenant_id'),
    region: text().notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    createdAt: at('created_at').notNull(),
    completedAt: at('completed_at').notNull(),
    request: json().notNull(),
    /** Of a dry run: what was checked, as JSON of a list of `verdict.v1.Check`. */
    checks: json(),
  },
  () => [check('messages_status', oneOf('status', STATUSES)), check('messages_reason', oneOf('reason', REASONS))],
)

export const recipients = pgTable(
  'recipients',
  {
    messageId: uuid('message_id').notNull(),
    position: smallint().notNull(),
    eventId: uuid('event_id').notNull(),
    email: text().notNull(),
    status: text().notNull(),
    reason: text(),
    retryable: boolean().notNull(),
    inDoubt: boolean('in_doubt').notNull(),
    /** The evidence, as JSON of `verdict.v1.SmtpEvidence`. */
    smtp: json(),
    /** The entry that stood against it, as JSON of `verdict.v1.Suppression`. */
    suppression: json(),
  },
  (t) => [
    primaryKey({ columns: [t.messageId, t.position] }),
    check('recipients_status', oneOf('status', STATUSES)),
    check('recipients_reason', oneOf('reason', REASONS)),
  ],
)

export const events = pgTable(
  'events',
  {
    id: uuid().primaryKey(),
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    status: text().notNull(),
    reason: text(),
    recipient: text().notNull(),
    tenantId: text('tenant_id'),
    sandbox: boolean().notNull(),
    createdAt: at('created_at').notNull(),
  },
  (t) => [
    index('events_account').on(t.accountId, t.id),
    index('events_recipient').on(t.accountId, sql`lower(recipient)`, t.id),
    index('events_failed').on(t.accountId, t.status, t.reason, t.id).where(sql`status <> 'delivered'`),
    index('events_tenant').on(t.accountId, t.tenantId, t.id).where(sql`tenant_id is not null`),
    check('events_status', oneOf('status', STATUSES)),
    check('events_reason', oneOf('reason', REASONS)),
  ],
)

/** A run of the retry schedule that is over. The id of an event's original dispatch is the event's own. */
export const dispatches = pgTable(
  'dispatches',
  {
    id: uuid().primaryKey(),
    eventId: uuid('event_id').notNull(),
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    kind: text().notNull(),
    state: text().notNull(),
    workflowId: text('workflow_id'),
    createdAt: at('created_at').notNull(),
    endedAt: at('ended_at').notNull(),
  },
  (t) => [
    index('dispatches_replays').on(t.eventId).where(sql`kind = 'replay'`),
    check('dispatches_kind', oneOf('kind', DISPATCH_KINDS)),
    check('dispatches_state', oneOf('state', DISPATCH_ENDS)),
  ],
)

/** A POST of an event that is over. One number may have several rows: those of which nobody knows the end, and the last one. */
export const attempts = pgTable(
  'attempts',
  {
    dispatchId: uuid('dispatch_id').notNull(),
    number: smallint().notNull(),
    startedAt: at('started_at').notNull(),
    /** null when nobody knows: outcome `unknown`. */
    finishedAt: at('finished_at'),
    outcome: text().notNull(),
    statusCode: smallint('status_code'),
    /** Milliseconds by phase, as JSON: dns, connect, tls, head, body. */
    phases: json(),
    /** The first 1,024 octets of the answer, read as UTF-8. */
    excerpt: text(),
    excerptCut: boolean('excerpt_cut').notNull().default(false),
    nextAttemptAt: at('next_attempt_at'),
  },
  (t) => [
    primaryKey({ columns: [t.dispatchId, t.number, t.startedAt] }),
    check('attempts_outcome', oneOf('outcome', ATTEMPT_OUTCOMES)),
  ],
)

/** The history tables, each with the column whose time decides the partition. */
export const HISTORY = {
  messages: 'id',
  recipients: 'message_id',
  events: 'id',
  dispatches: 'id',
  attempts: 'dispatch_id',
} as const

// Webhooks: where events go, and the runs of the retry schedule that are not over.

export const webhookEndpoints = pgTable('webhook_endpoints', {
  accountId: uuid('account_id')
    .primaryKey()
    .references(() => accounts.id),
  url: text().notNull(),
  /** The whole shown secret, `whsec_...`, sealed: see encryption.ts. */
  secret: bytea().notNull(),
  /** The one before the last rotation, sealed; also signed with until `previous_until`. */
  previousSecret: bytea('previous_secret'),
  previousUntil: at('previous_until'),
  createdAt: at('created_at').notNull().defaultNow(),
  updatedAt: at('updated_at').notNull().defaultNow(),
})

/** How an endpoint does, by the hour: POSTs that were acknowledged, and that were not. */
export const webhookHours = pgTable(
  'webhook_hours',
  {
    accountId: uuid('account_id').notNull(),
    hour: at('hour').notNull(),
    acknowledged: count('acknowledged'),
    failed: count('failed'),
    lastAcknowledgedAt: at('last_acknowledged_at'),
    lastFailedAt: at('last_failed_at'),
    /** Failures since the last acknowledgement of this hour. */
    failedSince: count('failed_since'),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.hour] })],
)

/** Dispatches that wait: small, and empty when every event is acknowledged at once. */
export const openDispatches = pgTable(
  'open_dispatches',
  {
    id: uuid().primaryKey(),
    eventId: uuid('event_id').notNull(),
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    kind: text().notNull(),
    createdAt: at('created_at').notNull(),
    /** The number of the next attempt, or of the one that is being made. */
    attempt: smallint().notNull().default(1),
    dueAt: at('due_at').notNull(),
    /** No attempt begins after it. */
    deadlineAt: at('deadline_at').notNull(),
    /** While it runs, the first attempt is made by the process that recorded the event. */
    leaseUntil: at('lease_until'),
    /** When the attempt that is being made by a workflow began; null between attempts. */
    startedAt: at('started_at'),
    /** The workflow that makes the further attempts, and since when it is known to be started. */
    workflowId: text('workflow_id'),
    handedOverAt: at('handed_over_at'),
    /** When its workflow was last looked for, because the attempt is overdue. */
    lookedAt: at('looked_at'),
  },
  (t) => [
    // A row that is acknowledged at its first attempt, as most are, never enters one of these.
    index('open_dispatches_replays').on(t.eventId).where(sql`kind = 'replay'`),
    index('open_dispatches_unassigned')
      .on(t.accountId, t.attempt, t.dueAt)
      .where(sql`workflow_id is null and lease_until is null`),
    index('open_dispatches_workflow').on(t.workflowId).where(sql`workflow_id is not null`),
    index('open_dispatches_unstarted').on(t.workflowId).where(sql`workflow_id is not null and handed_over_at is null`),
    index('open_dispatches_due').on(t.dueAt).where(sql`workflow_id is not null`),
    check('open_dispatches_kind', oneOf('kind', DISPATCH_KINDS)),
  ],
)

// Idempotency: which message, or which batch, a key stands for. Gone after 24 hours.

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: uuid('account_id').notNull(),
    /** The method, and live or sandbox: see key.ts. */
    scope: text().notNull(),
    key: text().notNull(),
    messageId: uuid('message_id').notNull(),
    /** SHA-256 of the first request. */
    requestHash: bytea('request_hash').notNull(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.scope, t.key] }), index('idempotency_keys_expiry').on(t.expiresAt)],
)

export const batchKeys = pgTable(
  'batch_keys',
  {
    accountId: uuid('account_id').notNull(),
    scope: text().notNull(),
    key: text().notNull(),
    requestHash: bytea('request_hash').notNull(),
    /** Whose batch this is while it runs. */
    claim: uuid().notNull(),
    leaseUntil: at('lease_until').notNull(),
    /** The whole answer, `verdict.v1.SendBatchResponse` in binary; null while the batch runs or may run again. */
    answer: bytea(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.scope, t.key] }), index('batch_keys_expiry').on(t.expiresAt)],
)

// Reputation: who is not mailed, and how much.

/** The account of entries that hold for everybody. */
export const EVERYBODY = '00000000-0000-0000-0000-000000000000'

export const suppressions = pgTable(
  'suppressions',
  {
    id: uuid().primaryKey(),
    /** `EVERYBODY` for a global entry. */
    accountId: uuid('account_id').notNull(),
    /** Empty for an entry of the whole account. */
    tenantId: text('tenant_id').notNull(),
    /** As addresses are matched: lower case, A-labels. */
    email: text().notNull(),
    reason: text({ enum: ['bounce', 'complaint', 'import', 'manual'] }).notNull(),
    /** The message whose bounce or complaint made the entry. */
    messageId: uuid('message_id'),
    detail: text(),
    createdAt: at('created_at').notNull().defaultNow(),
    /** null for an entry that stays. */
    expiresAt: at('expires_at'),
  },
  (t) => [
    uniqueIndex('suppressions_email').on(t.accountId, t.email, t.tenantId),
    index('suppressions_account').on(t.accountId, t.id),
    index('suppressions_expiry').on(t.expiresAt).where(sql`expires_at is not null`),
    check('suppressions_reason', oneOf('reason', ['bounce', 'complaint', 'import', 'manual'])),
  ],
)

/** Bounces that suppress an address only when they repeat. Kept for seven days. */
export const suppressionStrikes = pgTable(
  'suppression_strikes',
  {
    eventId: uuid('event_id').primaryKey(),
    accountId: uuid('account_id').notNull(),
    tenantId: text('tenant_id').notNull(),
    email: text().notNull(),
    kind: text({ enum: ['mailbox', 'full'] }).notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    index('suppression_strikes_email').on(t.accountId, t.email),
    index('suppression_strikes_created').on(t.createdAt),
    check('suppression_strikes_kind', oneOf('kind', ['mailbox', 'full'])),
  ],
)

/** What came back later: it never changes the state of a message. Kept for 90 days. */
export const feedback = pgTable(
  'feedback',
  {
    id: uuid().primaryKey(),
    messageId: uuid('message_id').notNull(),
    accountId: uuid('account_id').notNull(),
    /** As the message has it. */
    recipient: text().notNull(),
    kind: text({ enum: ['bounce', 'complaint'] }).notNull(),
    /** Of a bounce. */
    reason: text(),
    /** What the report says in words. */
    detail: text(),
    reportedAt: at('reported_at').notNull().defaultNow(),
  },
  (t) => [
    // A report that comes twice is one.
    uniqueIndex('feedback_report').on(t.messageId, sql`lower(recipient)`, t.kind),
    index('feedback_reported').on(t.reportedAt),
    check('feedback_kind', oneOf('kind', ['bounce', 'complaint'])),
    check('feedback_reason', oneOf('reason', REASONS)),
  ],
)

/** Emails of a domain that warms up, by the UTC day. */
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

/** A breaker that has ever opened; a domain without a row is closed. See breaker.ts. */
export const breakers = pgTable(
  'breakers',
  {
    accountId: uuid('account_id').notNull(),
    domain: text().notNull(),
    state: text({ enum: ['open', 'half_open', 'closed'] }).notNull(),
    cause: text({ enum: ['bounces', 'complaints'] }).notNull(),
    changedAt: at('changed_at').notNull(),
    /** What the hour of the last change had counted before it: left out of the rates from then on. */
    baseEmails: integer('base_emails').notNull(),
    baseBounces: integer('base_bounces').notNull(),
    baseComplaints: integer('base_complaints').notNull(),
    /** The running minute while half open, and what was let through in it. */
    minute: at('minute'),
    admitted: integer().notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.domain] }),
    check('breakers_state', oneOf('state', ['open', 'half_open', 'closed'])),
    check('breakers_cause', oneOf('cause', ['bounces', 'complaints'])),
  ],
)

export const STATS_COUNTS: readonly string[] = [
  'delivered',
  ...REASONS,
  'complaints',
  'late_bounces',
  ...LATENCY_COLUMNS,
]

/**
 * Statistics by the hour, kept in the commit of the outcome: one row for all of a domain (empty tenant) and one for each tenant.
 * What is not delivered is counted by its reason. The buckets of latency-buckets.ts hold delivered and bounced emails.
 * Commits that run at the same time count in different shards, so that none waits for another's; what an hour's shards hold is
 * added up in shard 0 when the hour is over. Then only the busiest tenants of an account keep rows of their own: see merge-statistics.ts.
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

/** Requests in the running window of a caller, an account. May be forgotten by a crash of Postgres. */
export const rateWindows = pgTable('rate_windows', {
  caller: text().primaryKey(),
  startedAt: at('started_at').notNull(),
  used: integer().notNull(),
})

/** Written by every readiness check: one row, the proof that the database takes writes. */
export const heartbeat = pgTable('heartbeat', {
  id: smallint().primaryKey(),
  beatAt: at('beat_at').notNull(),
})

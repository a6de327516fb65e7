import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  customType,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { DeliveryStatusSchema, ReasonSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import { shortWords } from './words.ts'

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 })
const oneOf = (column: string, words: string[]) => sql.raw(`${column} in (${words.map((w) => `'${w}'`).join(', ')})`)

const STATUSES = shortWords(DeliveryStatusSchema)
const REASONS = shortWords(ReasonSchema)

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
  },
  (t) => [
    uniqueIndex('domains_account_name').on(t.accountId, t.name),
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
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('dkim_keys_selector').on(t.domainId, t.selector),
    check('dkim_keys_algorithm', oneOf('algorithm', ['rsa', 'ed25519'])),
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

/** The history tables, each with the column whose time decides the partition. */
export const HISTORY = { messages: 'id', recipients: 'message_id', events: 'id' } as const

/** Written by every readiness check: one row, the proof that the database takes writes. */
export const heartbeat = pgTable('heartbeat', {
  id: smallint().primaryKey(),
  beatAt: at('beat_at').notNull(),
})

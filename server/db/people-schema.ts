import type { JsonValue } from '@bufbuild/protobuf'
import {
  boolean,
  foreignKey,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  smallint,
  sql,
  text,
  uniqueIndex,
  uuid,
} from './drizzle.ts'
import { accounts, at, bytea, checkOneOf, count } from './schema.ts'

// What the dashboard keeps: people and their sessions, the audit log, and the work that people start.

/** What a person may do in an account. Each role includes the ones before it. */
export const ROLES = ['reader', 'member', 'owner'] as const

// The next five tables are better-auth's: the properties have its names of the columns.

export const people = pgTable(
  'people',
  {
    id: uuid().primaryKey(),
    name: text().notNull(),
    /** In lower case. */
    email: text().notNull(),
    /** Whether the person has proven that the address is theirs: an issuer or a mailed link has verified it. */
    emailVerified: boolean('email_verified').notNull().default(false),
    image: text(),
    twoFactorEnabled: boolean('two_factor_enabled').default(false),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (t) => [uniqueIndex('people_email').on(t.email)],
)

export const sessions = pgTable(
  'sessions',
  {
    id: uuid().primaryKey(),
    token: text().notNull(),
    userId: uuid('person_id')
      .notNull()
      .references(() => people.id, { onDelete: 'cascade' }),
    expiresAt: at('expires_at').notNull(),
    ipAddress: text('ip_address'),
    userAgent: text('user_agent'),
    /**
     * When the person last entered a credential in this session; null when the issuer signed them in. better-auth
     * leaves it out: it creates a session after a password or a code.
     */
    confirmedAt: at('confirmed_at').defaultNow(),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (t) => [uniqueIndex('sessions_token').on(t.token), index('sessions_person').on(t.userId)],
)

/** How people sign in: the hash of each person's password, and identities of OpenID Connect. */
export const credentials = pgTable(
  'credentials',
  {
    id: uuid().primaryKey(),
    userId: uuid('person_id')
      .notNull()
      .references(() => people.id, { onDelete: 'cascade' }),
    /** The person's id, or `sub` at the issuer. */
    accountId: text('provider_account_id').notNull(),
    /** `credential` for a password, or the issuer (`iss`). */
    providerId: text('provider_id').notNull(),
    /** scrypt. */
    password: text(),
    accessToken: text('access_token'),
    refreshToken: text('refresh_token'),
    idToken: text('id_token'),
    accessTokenExpiresAt: at('access_token_expires_at'),
    refreshTokenExpiresAt: at('refresh_token_expires_at'),
    scope: text(),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (t) => [index('credentials_person').on(t.userId), uniqueIndex('credentials_identity').on(t.providerId, t.accountId)],
)

/** Short-lived tokens, such as that of a sign-in between the password and the second factor. */
export const verifications = pgTable(
  'verifications',
  {
    id: uuid().primaryKey(),
    identifier: text().notNull(),
    value: text().notNull(),
    expiresAt: at('expires_at').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (t) => [index('verifications_identifier').on(t.identifier)],
)

export const secondFactors = pgTable(
  'second_factors',
  {
    id: uuid().primaryKey(),
    userId: uuid('person_id')
      .notNull()
      .references(() => people.id, { onDelete: 'cascade' }),
    /** Encrypted by better-auth. */
    secret: text().notNull(),
    backupCodes: text('backup_codes').notNull(),
    verified: boolean().default(true),
    /** Wrong codes in a row. After ten the person must wait. Only a caller with the password can enter a code. */
    failedVerificationCount: integer('failed_verification_count').default(0),
    lockedUntil: at('locked_until'),
    /** The time step of the last code that was used (RFC 6238). Codes up to it are used up. */
    lastStep: integer('last_step'),
  },
  (t) => [index('second_factors_person').on(t.userId)],
)

/** The accounts that people belong to. */
export const members = pgTable(
  'members',
  {
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    personId: uuid('person_id')
      .notNull()
      .references(() => people.id, { onDelete: 'cascade' }),
    role: text({ enum: ROLES }).notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.personId] }),
    index('members_person').on(t.personId),
    checkOneOf(t.role),
  ],
)

/** Links that make their holders people of an account. */
export const invitations = pgTable(
  'invitations',
  {
    id: uuid().primaryKey(),
    /** null for the set-up link, which gives all accounts. */
    accountId: uuid('account_id').references(() => accounts.id),
    /** In lower case; null for the set-up link, whose holder chooses it. */
    email: text(),
    role: text({ enum: ROLES }).notNull(),
    /** SHA-256 of the link's token. The token itself is not stored. */
    tokenHash: bytea('token_hash').notNull(),
    /** The person who invited; null for the operator. */
    createdBy: uuid('created_by').references(() => people.id, { onDelete: 'set null' }),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at').notNull(),
    /** When it was accepted or withdrawn. The link no longer works then. */
    endedAt: at('ended_at'),
  },
  (t) => [
    uniqueIndex('invitations_token').on(t.tokenHash),
    index('invitations_account').on(t.accountId),
    checkOneOf(t.role),
  ],
)

/** Who changed what. A trigger refuses every update and delete. */
export const auditEntries = pgTable(
  'audit_entries',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id').notNull(),
    actorKind: text('actor_kind', { enum: ['person', 'api_key', 'operator', 'stranger'] }).notNull(),
    /** null for the operator and for a stranger. */
    actorId: uuid('actor_id'),
    actorName: text('actor_name').notNull(),
    /** Such as `key.create`: see audit/actions.ts. */
    action: text().notNull(),
    target: text().notNull(),
    /** The changed fields before and after, without secrets. */
    before: json().$type<Record<string, unknown>>(),
    after: json().$type<Record<string, unknown>>(),
    remoteAddress: text('remote_address'),
  },
  (t) => [
    index('audit_entries_account').on(t.accountId, t.id),
    index('audit_entries_action').on(t.accountId, t.action, t.id),
    checkOneOf(t.actorKind),
  ],
)

/** Replays of many events. */
export const rangeReplays = pgTable(
  'range_replays',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id').notNull(),
    /** `verdict.admin.v1.ReplayFilter` as JSON. */
    filter: json().$type<JsonValue>().notNull(),
    /** Whether the caller left out the filter's `to`: it is then the time of the start. */
    isOpenEnded: boolean('is_open_ended').notNull().default(false),
    perSecond: smallint('per_second').notNull(),
    state: text({ enum: ['running', 'finished', 'cancelled', 'failed'] }).notNull(),
    total: integer().notNull(),
    dispatched: count('dispatched'),
    /** Every matching event up to this id is dispatched. */
    doneUntil: uuid('done_until').notNull(),
    /** How many of its dispatches were acknowledged; null until all of them have ended. */
    acknowledged: integer(),
    createdBy: text('created_by').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    endedAt: at('ended_at'),
  },
  (t) => [
    index('range_replays_account').on(t.accountId, t.id),
    index('range_replays_running').on(t.id).where(sql`state = 'running'`),
    checkOneOf(t.state),
  ],
)

/** Imports of files into the suppression list. */
export const suppressionImports = pgTable(
  'suppression_imports',
  {
    id: uuid().primaryKey(),
    accountId: uuid('account_id').notNull(),
    /** Empty for a list of the whole account. */
    tenantId: text('tenant_id').notNull(),
    fileName: text('file_name').notNull(),
    /** SHA-256 of the file, by which an interrupted import goes on. */
    digest: bytea().notNull(),
    state: text({ enum: ['running', 'finished', 'cancelled', 'undone'] }).notNull(),
    lines: integer().notNull(),
    linesDone: count('lines_done'),
    nextPart: count('next_part'),
    imported: count('imported'),
    alreadySuppressed: count('already_suppressed'),
    invalid: count('invalid'),
    createdBy: text('created_by').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    endedAt: at('ended_at'),
  },
  (t) => [
    index('suppression_imports_account').on(t.accountId, t.id),
    uniqueIndex('suppression_imports_running').on(t.accountId, t.tenantId, t.digest).where(sql`state = 'running'`),
    checkOneOf(t.state),
  ],
)

/** The lines of an import that are no address. */
export const importFaults = pgTable(
  'import_faults',
  {
    importId: uuid('import_id')
      .notNull()
      .references(() => suppressionImports.id, { onDelete: 'cascade' }),
    line: integer().notNull(),
    text: text().notNull(),
    message: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.importId, t.line] })],
)

// Mails of the house: see server/notices/find-notices.ts.

/** The kinds of troubles that people of an account are notified of. */
export const TROUBLE_KINDS = [
  'endpoint_failing',
  'breaker_open',
  'domain_lapsed',
  'provider_refuses',
  'provider_bad_hour',
] as const
/** The kinds of notices that are each sent as a separate mail. */
export const LETTER_KINDS = ['invitation', 'password_reset'] as const
export const NOTICE_KINDS = [...TROUBLE_KINDS, ...LETTER_KINDS] as const

/**
 * Mails of the house and posts to notification URLs, waiting and ended, one row for each receiver. The text is made by
 * the send, and is not stored.
 */
export const notices = pgTable(
  'notices',
  {
    id: uuid().primaryKey(),
    /** null for the reset of a password, which belongs to a person and not to an account. */
    accountId: uuid('account_id').references(() => accounts.id),
    kind: text({ enum: NOTICE_KINDS }).notNull(),
    /** Whether the notice says that the trouble is over. */
    isOver: boolean('is_over').notNull().default(false),
    /** Whether the trouble was told and its end is not found yet. */
    isOpen: boolean('is_open').notNull().default(false),
    /** The endpoint, domain, refusing provider, bad hour or invitation that it is about. */
    subjectId: uuid('subject_id'),
    /** The host of the endpoint, or the name of the domain or provider. */
    subject: text().notNull().default(''),
    /** When the trouble began. */
    since: at('since'),
    /** The events that waited for the endpoint. */
    waiting: integer(),
    channel: text({ enum: ['mail', 'url'] }).notNull(),
    /** The person who is notified; null for a URL, for an invitation, and for a reset until its mail is made. */
    personId: uuid('person_id'),
    /** The address that asked for a reset, in lower case; null once the mail has ended. */
    email: text(),
    /** `cancelled`: nothing was sent, because there is no receiver any more, or the trouble ended before. */
    state: text({ enum: ['waiting', 'sent', 'failed', 'cancelled'] })
      .notNull()
      .default('waiting'),
    /** The sends that ended. */
    tries: smallint().notNull().default(0),
    dueAt: at('due_at').notNull(),
    /** Until then one process sends it. Notices of one mail have the same time, until its outcome is stored. */
    leaseUntil: at('lease_until'),
    /** The message of the last send by mail. */
    messageId: uuid('message_id'),
    /** How the last send ended: `delivered`, `bounced: mailbox_full`, `HTTP 404`. */
    outcome: text(),
    createdAt: at('created_at').notNull().defaultNow(),
    endedAt: at('ended_at'),
    /** When the link of a reset was used. */
    usedAt: at('used_at'),
  },
  (t) => [
    index('notices_account').on(t.accountId, t.id),
    index('notices_due').on(t.dueAt).where(sql`state = 'waiting'`),
    index('notices_open').on(t.subjectId).where(sql`is_open`),
    index('notices_subject').on(t.subjectId, t.createdAt),
    index('notices_person').on(t.personId, t.createdAt),
    checkOneOf(t.kind),
    checkOneOf(t.channel),
    checkOneOf(t.state),
  ],
)

/** The troubles that a person of an account gets mails about. Without a row: all for an owner, none for others. */
export const notificationChoices = pgTable(
  'notification_choices',
  {
    accountId: uuid('account_id').notNull(),
    personId: uuid('person_id').notNull(),
    /** Kinds of troubles. */
    kinds: text({ enum: TROUBLE_KINDS }).array().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.personId] }),
    foreignKey({
      name: 'notification_choices_member',
      columns: [t.accountId, t.personId],
      foreignColumns: [members.accountId, members.personId],
    }).onDelete('cascade'),
  ],
)

/** The URL that gets the notifications of an account, in the form of Slack's incoming webhooks. */
export const notificationUrls = pgTable('notification_urls', {
  accountId: uuid('account_id')
    .primaryKey()
    .references(() => accounts.id),
  /** Sealed (see encryption.ts), because its path is the password to a chat. */
  url: bytea().notNull(),
  /** Scheme and host. */
  origin: text().notNull(),
  createdAt: at('created_at').notNull().defaultNow(),
})

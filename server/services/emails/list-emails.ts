import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SQL } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import {
  type EmailService,
  type ListEmailsRequest,
  ListEmailsRequestSchema,
  type ListedEmail,
  ListedEmailSchema,
} from '../../../gen/verdict/v1/emails_pb.ts'
import { accountOf } from '../../caller.ts'
import type { Database } from '../../db/connect.ts'
import { and, desc, eq, gte, inArray, lt, sql } from '../../db/drizzle.ts'
import { publicId, timeOfId } from '../../db/ids.ts'
import { matchingSql, recipientDomainSql } from '../../db/matching-sql.ts'
import { type FoundInTime, type IdRange, newestRowsInTime } from '../../db/newest-rows.ts'
import { feedbackNames, kindNames, reasonNames, statusNames } from '../../db/outcome-names.ts'
import { feedback, messages, recipients } from '../../db/schema.ts'
import type { Backend } from '../backend.ts'
import {
  isRecipient,
  readDomain,
  readEnum,
  readExchangers,
  readMetadataFilter,
  readSender,
  readSoughtRecipient,
  readSubjectWords,
  readTagFilter,
  readTenantFilter,
  type SoughtExchangers,
} from '../listing/filters.ts'
import { pageOf, readLimit, readRange } from '../listing/pages.ts'
import { newestWithTerms } from './newest-with-terms.ts'
import { type ReportRow, reportOf, reportsAbout } from './reports.ts'

export function createListEmails({ read, clock }: Backend): ServiceImpl<typeof EmailService>['listEmails'] {
  return async (request, context) => {
    const limit = readLimit(request.limit)
    const range = readRange(ListEmailsRequestSchema, request, clock)
    const filters = { accountId: accountOf(context), ...readFilters(request) }
    return read(async (db) => {
      const { rows, stoppedAt } = await findRows(db, filters, range, limit + 1)
      const { page, ...more } = pageOf(rows, limit, ListEmailsRequestSchema, request, stoppedAt)
      const ids = page.map(({ id }) => id)
      const outcomes = await outcomesOf(db, ids)
      const reports = await reportsAbout(db, ids)
      return { emails: page.map((row) => emailOf(row, outcomes.get(row.id) ?? [], reports.get(row.id) ?? [])), ...more }
    })
  }
}

function readFilters(request: ListEmailsRequest) {
  return {
    status: readEnum('status', request.status, statusNames),
    reason: readEnum('reason', request.reason, reasonNames),
    recipient: readSoughtRecipient(request.recipient),
    recipientDomain: readDomain(request.recipientDomain, 'recipient_domain'),
    domain: readDomain(request.domain),
    sender: readSender(request.sender),
    tag: readTagFilter(request.tag),
    tenantId: readTenantFilter(request.tenantId),
    sandbox: request.sandbox,
    inDoubt: request.inDoubt,
    bouncedBy: readExchangers(request.bouncedBy, 'bounced_by'),
    kind: readEnum('feedback', request.feedback, feedbackNames),
    terms: readTerms(request),
  }
}

/** What the terms of an email are made of; undefined when the list has no such filter. */
function readTerms({ subject, metadata }: ListEmailsRequest) {
  const terms = { subject: readSubjectWords(subject), metadata: readMetadataFilter(metadata) }
  return terms.subject === undefined && terms.metadata === undefined ? undefined : terms
}

type Filters = ReturnType<typeof readFilters> & { accountId: string }

/** What a list shows of the stored request. It is read by one pass of the JSON, which may hold megabytes of content. */
interface ShownRequest {
  from: string
  subject: string
  metadata: Record<string, string> | null
}

const COLUMNS = {
  id: messages.id,
  status: messages.status,
  reason: messages.reason,
  tag: messages.tag,
  tenantId: messages.tenantId,
  sandbox: messages.sandbox,
  completedAt: messages.completedAt,
  request: sql<ShownRequest>`(
    select to_json(r) from json_to_record(${messages.request}) as r("from" text, subject text, metadata json))`.as(
    'shown_request',
  ),
}

function matches(
  { accountId, recipient: _, recipientDomain: __, sender, inDoubt, bouncedBy, kind, terms, ...columns }: Filters,
  range: IdRange,
) {
  const equal = Object.entries(columns).flatMap(([name, value]) =>
    value === undefined ? [] : [eq(messages[name as keyof typeof columns], value)],
  )
  return and(
    eq(messages.accountId, accountId),
    gte(messages.id, range.from),
    lt(messages.id, range.below),
    ...equal,
    sender && isFrom(sender),
    inDoubt === undefined ? undefined : inDoubt ? isInDoubt(range) : sql`not (${isInDoubt(range)})`,
    bouncedBy && isBouncedBy(bouncedBy, range),
    kind === undefined ? undefined : hasReport(kind),
    terms && hasTerms(accountId, terms),
  )
}

const hasTerms = (accountId: string, terms: object) => sql<boolean>`
  message_terms(${messages.accountId}, ${messages.request})
    @> nullif(message_terms(${accountId}::uuid, ${JSON.stringify(terms)}::text::json), '{}')`

/**
 * Whether an email bounced for a recipient that matches. Bounced is the worst status, so only bounced emails need a
 * look at their recipients. As a subquery with a limit it is one look for each of them, in the order of the list.
 * PostgreSQL would turn `exists` into a join that begins with the recipients of all accounts.
 */
const hasBouncedFor = (condition: SQL, { from, below }: IdRange) => sql`${messages.status} = 'bounced' and coalesce((
  select true from ${recipients} r
  where r.message_id = ${messages.id} and r.message_id >= ${from} and r.message_id < ${below} and ${condition}
  limit 1), false)`

const isInDoubt = (range: IdRange) => hasBouncedFor(sql`r.in_doubt`, range)

/** Whether an email is from an address: the index finds its domain, and the stored request has the rest. */
const isFrom = ({ local, domain }: { local: string; domain: string }) => sql`
  ${messages.domain} = ${domain} and ${sql.raw(SENDER_LOCAL)} = ${local}`

const SENDER = `messages.request ->> 'from'`
/** The local part of `Ann <ann@example.com>` and `ann@example.com`, in its matching form. */
const SENDER_LOCAL = matchingSql(
  `regexp_replace(coalesce(substring(${SENDER} from '<([^<>]*)>[^<>]*$'), ${SENDER}), '@[^@]*$', '')`,
)

/** Whether a report of the kind came back: a look at one index, which holds few messages. */
const hasReport = (kind: string) => sql<boolean>`
  coalesce((select true from ${feedback} f where f.message_id = ${messages.id} and f.kind = ${kind} limit 1), false)`

/** The exchanger that bounced a recipient: the last one, or the first that was tried when none responded. */
const MX = sql.raw(`lower(coalesce(r.smtp ->> 'mx', (
  select tried ->> 'mx' from json_array_elements(r.smtp -> 'tried') as tried where tried ->> 'mx' is not null limit 1)))`)

const isBouncedBy = (sought: SoughtExchangers, range: IdRange) =>
  hasBouncedFor(sql`r.status = 'bounced' and ${'ip' in sought ? isAt(sought.ip) : isOf(sought.sites)}`, range)

/** Whether the exchanger, or one that was tried, has the IP address. */
const isAt = (ip: string) => sql`(r.smtp ->> 'ip' = ${ip} or exists (
  select from json_array_elements(r.smtp -> 'tried') as tried where tried ->> 'ip' = ${ip}))`

const isOf = (sites: string[]) => sql`'.' || ${MX} like any(array[${sql.join(sites.map(endingIn), sql`, `)}])`

// A site has no character with a meaning in a pattern: readDomainName refuses all others.
const endingIn = (site: string) => sql`${`%.${site}`}::text`

async function findRows(db: Database, filters: Filters, range: IdRange, limit: number): Promise<FoundInTime<EmailRow>> {
  const { recipient, recipientDomain, kind, terms } = filters
  if (recipient === undefined && kind === undefined && terms !== undefined)
    return findEmailsWith(db, filters, terms, range, limit)
  const isByRecipient = recipient !== undefined || (recipientDomain !== undefined && kind === undefined)
  const find = isByRecipient ? findEmailsTo : kind === undefined ? findEmails : findReported
  return newestRowsInTime(range, limit, (range, limit) => find(db, filters, range, limit))
}

/**
 * Every filter has an index that ends in the id, so PostgreSQL reads a page and no more. Of several filters it uses the
 * one that finds least, and reads what that one finds.
 */
function findEmails(db: Database, filters: Filters, range: IdRange, limit: number) {
  return db.select(COLUMNS).from(messages).where(matches(filters, range)).orderBy(desc(messages.id)).limit(limit)
}

/** Finds emails by words of the subject and pairs of the metadata. */
async function findEmailsWith(db: Database, filters: Filters, terms: object, range: IdRange, limit: number) {
  const { accountId, recipientDomain } = filters
  const isToDomain = (range: IdRange) =>
    recipientDomain === undefined ? undefined : hasRecipientAt(recipientDomain, range)
  const found = await newestWithTerms(range, limit, {
    newest: (range, limit) =>
      db
        .select({ id: messages.id, isFound: sql<boolean>`${and(hasTerms(accountId, terms), isToDomain(range))}` })
        .from(messages)
        .where(matches({ ...filters, terms: undefined }, range))
        .orderBy(desc(messages.id))
        .limit(limit),
    // The offset keeps PostgreSQL from looking for the terms in the order of the list, in message after message.
    indexed: (range, limit) =>
      db
        .select({ id: sql<string>`found.id` })
        .from(
          sql`(select ${messages.id} from ${messages} where ${and(matches(filters, range), isToDomain(range))} offset 0) as found`,
        )
        .orderBy(sql`found.id desc`)
        .limit(limit),
  })
  const ids = found.rows.map(({ id }) => id)
  const rows =
    ids.length === 0
      ? []
      : await db.select(COLUMNS).from(messages).where(inArray(messages.id, ids)).orderBy(desc(messages.id))
  return { ...found, rows }
}

const hasRecipientAt = (domain: string, { from, below }: IdRange, id: PgColumn = messages.id) => sql`exists (
  select from ${recipients} r
  where r.message_id = ${id} and r.message_id >= ${from} and r.message_id < ${below}
    and ${sql.raw(recipientDomainSql('r.email'))} = ${domain})`

/** Finds emails by a recipient or the domain of one. An address may be among the recipients in two spellings. */
function findEmailsTo(db: Database, filters: Filters, range: IdRange, limit: number) {
  const { recipient, recipientDomain } = filters
  const isSought = and(
    recipient && isRecipient('recipients.email', recipient),
    recipientDomain === undefined ? undefined : eq(sql.raw(recipientDomainSql('recipients.email')), recipientDomain),
  )
  return findEmailsOf(db, recipients, isSought, filters, range, limit)
}

/** Finds emails about which reports came back, which are few. */
function findReported(db: Database, filters: Filters, range: IdRange, limit: number) {
  const { kind, recipientDomain } = filters
  const isSought = and(
    sql`${feedback.kind} = ${kind}`,
    recipientDomain === undefined ? undefined : hasRecipientAt(recipientDomain, range, feedback.messageId),
  )
  // The rows are reports of this kind: no email needs another look at them.
  return findEmailsOf(db, feedback, isSought, { ...filters, kind: undefined }, range, limit)
}

/**
 * Finds emails by rows about them, once each, though several rows may match. The inner limit keeps PostgreSQL from
 * joining the other way round, which would read every email of the account when such rows are rare.
 */
function findEmailsOf(
  db: Database,
  rows: typeof recipients | typeof feedback,
  isSought: SQL | undefined,
  filters: Filters,
  range: IdRange,
  limit: number,
) {
  const { messageId, accountId } = rows
  const email = db
    .select(COLUMNS)
    .from(messages)
    .where(and(eq(messages.id, messageId), matches(filters, range)))
    .limit(1)
    .as('email')
  return db
    .selectDistinctOn([messageId], email._.selectedFields)
    .from(rows)
    .crossJoinLateral(email)
    .where(and(eq(accountId, filters.accountId), isSought, gte(messageId, range.from), lt(messageId, range.below)))
    .orderBy(desc(messageId))
    .limit(limit)
}

/** Reads the recipients of emails with their outcomes, in the order of each request. */
async function outcomesOf(db: Database, ids: string[]) {
  const rows =
    ids.length === 0
      ? []
      : await db
          .select({
            messageId: recipients.messageId,
            email: recipients.email,
            kind: recipients.kind,
            status: recipients.status,
            reason: recipients.reason,
            inDoubt: recipients.inDoubt,
            mx: sql<string | null>`${recipients.smtp} ->> 'mx'`,
          })
          .from(recipients)
          .where(inArray(recipients.messageId, ids))
          .orderBy(recipients.messageId, recipients.position)
  return Map.groupBy(rows, ({ messageId }) => messageId)
}

type EmailRow = Awaited<ReturnType<typeof findEmails>>[number]
type OutcomeRows = Awaited<ReturnType<typeof outcomesOf>> extends Map<string, infer Rows> ? Rows : never

function emailOf(row: EmailRow, outcomes: OutcomeRows, reports: ReportRow[]): ListedEmail {
  const { from, subject, metadata } = row.request
  return create(ListedEmailSchema, {
    messageId: publicId('msg', row.id),
    ...outcomeOf(row),
    from,
    subject,
    recipients: outcomes.map((outcome) => ({
      email: outcome.email,
      kind: kindNames.value(outcome.kind),
      ...outcomeOf(outcome),
      inDoubt: outcome.inDoubt || undefined,
      mx: outcome.mx ?? undefined,
    })),
    inDoubt: outcomes.some(({ inDoubt }) => inDoubt) || undefined,
    tag: row.tag ?? undefined,
    metadata: metadata ?? {},
    tenantId: row.tenantId ?? undefined,
    sandbox: row.sandbox,
    feedback: reports.map(reportOf),
    createdAt: timestampFromMs(timeOfId(row.id)),
    completedAt: timestampFromDate(row.completedAt),
  })
}

function outcomeOf({ status, reason }: { status: string; reason: string | null }) {
  return { status: statusNames.value(status), reason: reason === null ? undefined : reasonNames.value(reason) }
}

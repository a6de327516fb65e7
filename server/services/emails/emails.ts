import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type EmailService,
  type GetEmailResponse,
  GetEmailResponseSchema,
  type SendRequest,
  SendRequestSchema,
  type SendResponse,
} from '../../../gen/verdict/v1/emails_pb.ts'
import { EvidenceSchema } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { changeAs } from '../../access/audit/change-as.ts'
import { record } from '../../access/audit/record-change.ts'
import { requesterOf } from '../../access/audit/requester.ts'
import { accountOf, callerOf, endWorkKey, logFieldsKey, refusalKey, traceKey } from '../../caller.ts'
import type { Database } from '../../db/connect.ts'
import { and, eq } from '../../db/drizzle.ts'
import { publicId, timeOfId } from '../../db/ids.ts'
import type { StoredRequest } from '../../db/json-columns.ts'
import { reasonNames, statusNames } from '../../db/outcome-names.ts'
import { RETENTION_MS } from '../../db/retention.ts'
import { messages, recipients, retries } from '../../db/schema.ts'
import { readStored } from '../../db/stored-json.ts'
import type { SenderDomains } from '../../domains/sender.ts'
import type { Idempotency } from '../../sending/idempotency.ts'
import { type IdempotencyKey, NEVER } from '../../sending/idempotency-key.ts'
import { type Message, readRequest } from '../../sending/message.ts'
import { summarise } from '../../sending/outcome.ts'
import { explain } from '../../sending/rejection.ts'
import type { Send } from '../../sending/send.ts'
import { outcomeOfRow } from '../../sending/stored-response.ts'
import type { Backend } from '../backend.ts'
import { KEPT_EMAIL, readKeptId, unknownId } from '../listing/kept-ids.ts'
import { createListEmails } from './list-emails.ts'
import { createListRefusedSends } from './list-refused-sends.ts'
import { reportOf, reportsAbout } from './reports.ts'
import { type BatchMethodParts, createSendBatch } from './send-batch.ts'
import { isDryRun, readKey, readSandbox, replayHeaders } from './send-headers.ts'

interface EmailServiceParts extends Backend, BatchMethodParts {
  send: Send
  senderDomains: SenderDomains
  idempotency: Idempotency
  /** Returns the keyed hash of an address, for the log. */
  hashAddress(address: string): string
}

export function createEmailService(parts: EmailServiceParts): ServiceImpl<typeof EmailService> {
  return {
    send: (request, context) => sendOne(parts, request, context, isDryRun(context)),
    validate(request, context) {
      readSandbox(context.requestHeader)
      return sendOne(parts, request, context, true)
    },
    sendBatch: createSendBatch(parts),
    listEmails: createListEmails(parts),
    listRefusedSends: createListRefusedSends(parts),
    async getEmail({ id }, context) {
      const email = await storedEmail(parts.db, accountOf(context), readKeptId(KEPT_EMAIL, id, parts.clock))
      if (!email) throw unknownId(KEPT_EMAIL, id)
      return email
    },
  }
}

/** Runs a send, or its dry run with `sandbox`, under the idempotency key of its header. */
async function sendOne(
  { db, send, senderDomains, idempotency, hashAddress }: EmailServiceParts,
  request: SendRequest,
  context: HandlerContext,
  sandbox: boolean,
): Promise<SendResponse> {
  const log = context.values.get(logFieldsKey)
  log.sandbox = sandbox
  const refusal = context.values.get(refusalKey)
  const accountId = accountOf(context)
  const endWork = context.values.get(endWorkKey)
  const run = async (signal: AbortSignal, key?: IdempotencyKey) => {
    if (refusal) throw refusal
    const message = await readRequest(request, { accountId, senderDomains })
    log.recipients = recipientsInLog(message, hashAddress)
    if (!sandbox) await auditPerson(db, message, context)
    return send(message, { accountId, sandbox, key, signal, trace: context.values.get(traceKey), endWork })
  }

  const key = readKey(context, sandbox, SendRequestSchema, request)
  const response = key
    ? replayHeaders(context, await idempotency.once(key, () => run(NEVER, key), endWork))
    : (await run(context.signal))!

  Object.assign(log, {
    message_id: response.messageId,
    outcome: statusNames.name(response.status),
    reason: response.reason && reasonNames.name(response.reason),
    in_doubt: response.inDoubt,
  })
  return response
}

/** Records a person's email in the audit log before it is sent. An API key's email has no such entry. */
async function auditPerson(db: Database, { recipients, retryOf }: Message, { values }: HandlerContext): Promise<void> {
  if (!callerOf({ values }).person) return
  const after = { recipients: recipients.length, retry_of: retryOf && publicId('msg', retryOf) }
  const target = recipients[0]!.address.address
  await changeAs(db, requesterOf(values), (tx, author) =>
    record(tx, { ...author, action: 'email.send', target, after }),
  )
}

function recipientsInLog(message: Message, hashAddress: EmailServiceParts['hashAddress']) {
  return message.recipients.map(({ address: { address, domain } }) => ({ domain, hash: hashAddress(address) }))
}

async function storedEmail(db: Database, accountId: string, id: string): Promise<GetEmailResponse | undefined> {
  const [message] = await db
    .select()
    .from(messages)
    .where(and(eq(messages.id, id), eq(messages.accountId, accountId)))
  if (!message) return undefined
  const [rows, reports, retriedBy] = await Promise.all([
    db.select().from(recipients).where(eq(recipients.messageId, id)).orderBy(recipients.position),
    reportsAbout(db, [id]),
    retriesOf(db, id),
  ])
  const outcomes = rows.map((row) => explain(outcomeOfRow(row), message.domain))
  const createdAtMs = timeOfId(id)
  return create(GetEmailResponseSchema, {
    messageId: publicId('msg', id),
    ...summarise(outcomes),
    ...requestedFields(message.request),
    tenantId: message.tenantId ?? undefined,
    retriedBy,
    sandbox: message.sandbox,
    sizeBytes: message.sizeBytes,
    recipients: outcomes,
    events: rows.map((row) => ({
      eventId: publicId('evt', row.eventId),
      status: statusNames.value(row.status),
      recipient: row.email,
      timestamp: timestampFromMs(message.completedAt.getTime()),
    })),
    createdAt: timestampFromMs(createdAtMs),
    completedAt: timestampFromMs(message.completedAt.getTime()),
    expiresAt: timestampFromMs(createdAtMs + RETENTION_MS),
    feedback: (reports.get(id) ?? []).map((report) => ({
      ...reportOf(report),
      detail: report.detail ?? undefined,
      evidence: readStored(EvidenceSchema, report.evidence),
    })),
  })
}

/** The ids of the messages that retry this one. */
async function retriesOf(db: Database, id: string): Promise<string[]> {
  const { messageId, retriedId } = retries
  const rows = await db.selectDistinct({ messageId }).from(retries).where(eq(retriedId, id)).orderBy(messageId)
  return rows.map((row) => publicId('msg', row.messageId))
}

function requestedFields(request: StoredRequest) {
  return {
    from: request.from,
    to: request.to,
    cc: request.cc,
    bcc: request.bcc,
    replyTo: request.reply_to,
    subject: request.subject,
    headers: Object.fromEntries(request.headers),
    metadata: request.metadata,
    tag: request.tag,
    retryOf: request.retry_of,
    attachments: request.attachments.map((file) => ({
      filename: file.filename,
      contentType: file.content_type,
      contentId: file.content_id,
      sizeBytes: file.size_bytes,
    })),
    html: request.html,
    text: request.text,
    autoText: request.auto_text,
    raw: request.raw,
  }
}

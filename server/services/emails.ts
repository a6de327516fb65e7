import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { and, eq } from 'drizzle-orm'
import {
  type EmailService,
  type GetEmailResponse,
  GetEmailResponseSchema,
  type SendRequest,
  type SendResponse,
} from '../../gen/verdict/v1/emails_pb.ts'
import { callerKey, logFieldsKey } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { readId, showId, timeOfId } from '../db/ids.ts'
import { isExpired, RETENTION_MS } from '../db/retention.ts'
import { messages, recipients } from '../db/schema.ts'
import { fail } from '../errors.ts'
import type { StoredRequest } from '../sending/compose.ts'
import { type Message, readMessage } from '../sending/message.ts'
import { reasonWords, statusWords, summarise } from '../sending/outcome.ts'
import type { Send } from '../sending/send.ts'
import { outcomeOfRow } from '../sending/stored.ts'

export interface EmailServiceParts {
  db: Database
  clock: DatabaseClock
  send: Send
  /** Keyed hash of an address, for the log. */
  hashAddress(address: string): string
}

export function emailService({ db, clock, send, hashAddress }: EmailServiceParts): ServiceImpl<typeof EmailService> {
  async function sendOne(request: SendRequest, context: HandlerContext, sandbox: boolean): Promise<SendResponse> {
    const { accountId } = context.values.get(callerKey)!
    refuseIdempotencyKey(context.requestHeader)
    const message = readMessage(request)
    const log = context.values.get(logFieldsKey)
    Object.assign(log, { recipients: recipientsInLog(message, hashAddress), sandbox })

    const response = await send(message, { accountId, sandbox, signal: context.signal })

    Object.assign(log, {
      message_id: response.messageId,
      outcome: statusWords.word(response.status),
      reason: response.reason && reasonWords.word(response.reason),
      in_doubt: response.inDoubt,
    })
    return response
  }

  return {
    send(request, context) {
      const { test } = context.values.get(callerKey)!
      return sendOne(request, context, readSandbox(context.requestHeader) || test)
    },

    validate(request, context) {
      readSandbox(context.requestHeader)
      return sendOne(request, context, true)
    },

    async getEmail({ id }, context) {
      const { accountId } = context.values.get(callerKey)!
      const messageId = readId('msg', id)
      if (messageId && isExpired(messageId, clock)) {
        throw fail('event_expired', `${id} is older than the 90 days that emails are kept.`)
      }
      const email = messageId && (await storedEmail(db, accountId, messageId))
      if (!email) throw fail('not_found', `There is no email ${JSON.stringify(id.slice(0, 64))} in this account.`)
      return email
    },
  }
}

/** `true` or `false` in any case. Anything else is refused: a typo must not send. */
function readSandbox(headers: Headers): boolean {
  const value = headers.get('x-service-sandbox')
  if (value === null || /^false$/i.test(value)) return false
  if (/^true$/i.test(value)) return true
  const message = 'must be true or false'
  throw fail('invalid_payload', `The header X-Service-Sandbox ${message}.`, {
    fields: [{ field: 'X-Service-Sandbox', message }],
  })
}

/** A key that would be ignored is worse than none: its caller believes that a repeat sends nothing. */
function refuseIdempotencyKey(headers: Headers): void {
  if (!headers.has('idempotency-key')) return
  const message = 'is not supported yet. Leave the header out; every request is a new send'
  throw fail('invalid_payload', `Idempotency-Key ${message}.`, { fields: [{ field: 'Idempotency-Key', message }] })
}

function recipientsInLog(message: Message, hashAddress: EmailServiceParts['hashAddress']) {
  return message.to.map(({ address, domain }) => ({ domain, hash: hashAddress(address) }))
}

async function storedEmail(db: Database, accountId: string, id: string): Promise<GetEmailResponse | undefined> {
  const [message] = await db
    .select()
    .from(messages)
    .where(and(eq(messages.id, id), eq(messages.accountId, accountId)))
  if (!message) return undefined
  const rows = await db.select().from(recipients).where(eq(recipients.messageId, id)).orderBy(recipients.position)
  const outcomes = rows.map(outcomeOfRow)
  const request = message.request as StoredRequest
  const createdAtMs = timeOfId(id)
  return create(GetEmailResponseSchema, {
    messageId: showId('msg', id),
    ...summarise(outcomes),
    from: request.from,
    to: request.to,
    replyTo: request.reply_to,
    subject: request.subject,
    headers: Object.fromEntries(request.headers),
    tenantId: message.tenantId ?? undefined,
    sandbox: message.sandbox,
    sizeBytes: message.sizeBytes,
    attachments: request.attachments.map((file) => ({
      filename: file.filename,
      contentType: file.content_type,
      sizeBytes: file.size_bytes,
    })),
    recipients: outcomes,
    events: rows.map((row, i) => ({
      eventId: showId('evt', row.eventId),
      status: outcomes[i]!.status,
      recipient: row.email,
      timestamp: timestampFromMs(message.completedAt.getTime()),
    })),
    createdAt: timestampFromMs(createdAtMs),
    completedAt: timestampFromMs(message.completedAt.getTime()),
    expiresAt: timestampFromMs(createdAtMs + RETENTION_MS),
    html: request.html,
    text: request.text,
  })
}

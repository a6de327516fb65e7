import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'

/** A command that sends a message again, and what of the message it does not have. */
export interface SendCommand {
  command: string
  /** Whom the command sends to. */
  recipients: string[]
  /** It is a retry of the message, and no new one. */
  isRetry: boolean
  missing: string[]
}

const CONTINUED = ' \\\n  '

/** The service ends a chain of retries this long after its first message. */
export const CHAIN_MS = 7 * 86_400_000

/**
 * Repeats a stored send with curl, as a new send: without its idempotency key, which would return the first response.
 * The command retries the recipients that can be retried. Without any, it sends to the recipients that did not get the
 * message, or to all recipients when all got it. The body is valid in a POSIX shell. It holds printable ASCII only, so
 * that a terminal shows every character.
 */
export function commandOfSend(email: GetEmailResponse, url: string): SendCommand {
  const { sandbox } = email
  const { recipients, ...fields } = recipientsOf(email)
  const missing = [
    ...missingIn(email),
    ...fields.missing.map((address) => `${address}: a bcc recipient needs a message of its own`),
  ]
  const body = JSON.stringify(bodyOf({ ...email, ...fields }), undefined, 2)
  const parts = [
    `curl ${shellQuoted(`${url}/api/v1/emails/send`)}`,
    '-H "Authorization: Bearer $VERDICT_API_KEY"',
    "-H 'Content-Type: application/json'",
    ...(sandbox ? ["-H 'X-Service-Sandbox: true'"] : []),
    `-d ${shellQuoted(inAscii(body))}`,
  ]
  return { command: parts.join(CONTINUED), recipients, isRetry: fields.retryOf !== undefined, missing }
}

/** Whether a mailbox, `a@b` or `Name <a@b>`, is that of an address. */
export const isMailboxOf = (mailbox: string, email: string) => mailbox === email || mailbox.endsWith(`<${email}>`)

/** The fields of the repeat that differ from those of the message. A new send has no `retry_of`, like a first message. */
function recipientsOf({ messageId, recipients, to, cc, bcc, createdAt }: GetEmailResponse) {
  const isOver = createdAt !== undefined && Date.now() - timestampMs(createdAt) > CHAIN_MS
  const retryable = isOver ? [] : recipients.filter(({ retryable }) => retryable)
  const failed = recipients.filter(({ status, inDoubt }) => status !== DeliveryStatus.DELIVERED && !inDoubt)
  const chosen = [retryable, failed, recipients].find(({ length }) => length > 0) ?? []
  const retryOf = retryable.length > 0 ? messageId : undefined
  if (chosen.length === recipients.length)
    return { recipients: [...to, ...cc, ...bcc], retryOf, to, cc, bcc, missing: [] }
  const isChosen = (mailbox: string) => chosen.some(({ email }) => isMailboxOf(mailbox, email))
  const [chosenTo, chosenCc, chosenBcc] = [to.filter(isChosen), cc.filter(isChosen), bcc.filter(isChosen)]
  const rest = { recipients: chosen.map(({ email }) => email), retryOf, missing: [] }
  if (chosenTo.length > 0) return { ...rest, to: chosenTo, cc: chosenCc, bcc: chosenBcc }
  if (chosenCc.length > 0) return { ...rest, to: chosenCc, cc: [], bcc: chosenBcc }
  // A message needs `to`, which all its recipients see.
  const [only = '', ...missing] = chosenBcc
  return { ...rest, recipients: [only], to: [only], cc: [], bcc: [], missing }
}

function missingIn({ raw, attachments, html, text }: GetEmailResponse): string[] {
  if (raw) return ['raw: the message that your software built is not stored']
  const hasContent = html !== undefined || text !== undefined
  return [
    ...(hasContent ? [] : ['html and text: their content is not stored']),
    ...attachments.map(({ filename }) => `attachment ${filename}: the content of files is not stored`),
  ]
}

function bodyOf(email: GetEmailResponse) {
  const { from, to, cc, bcc, replyTo, subject, headers, tenantId, metadata, tag, retryOf, html, text, autoText, raw } =
    email
  const envelope = {
    from,
    to,
    ...(cc.length > 0 && { cc }),
    ...(bcc.length > 0 && { bcc }),
    ...(tenantId !== undefined && { tenant_id: tenantId }),
    ...(tag !== undefined && { tag }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(retryOf !== undefined && { retry_of: retryOf }),
  }
  const built = raw && {
    ...envelope,
    raw: '<your message as base64>',
  }
  if (built) return built
  return {
    ...envelope,
    ...(replyTo && { reply_to: mailboxesOf(replyTo) }),
    subject,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(html !== undefined && { html }),
    ...(text !== undefined && { text }),
    ...(autoText && text === undefined && { auto_text: true }),
    ...(html === undefined && text === undefined && { text: '<your text>' }),
  }
}

/** The mailboxes of a header field; a comma in a quoted name separates nothing. */
export const mailboxesOf = (field: string) =>
  (field.match(/(?:"(?:\\.|[^"\\])*"|[^,"])+/g) ?? []).map((one) => one.trim())

const inAscii = (json: string) => json.replace(/[^\n -~]/g, unicodeEscapes)

/** The characters of a JSON string as its escapes: `\u00e9`. */
export const unicodeEscapes = (characters: string) =>
  Array.from({ length: characters.length }, (_, i) => {
    return `\\u${characters.charCodeAt(i).toString(16).padStart(4, '0')}`
  }).join('')

/** A text as one word of a POSIX shell. */
export const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

import type { GetEmailResponse } from '../../gen/verdict/v1/emails_pb.ts'

/** A command that sends a message again, and what of the message it does not have. */
export interface SendCommand {
  command: string
  missing: string[]
}

const CONTINUED = ' \\\n  '

/**
 * Repeats a stored send with curl, as a new send: without its idempotency key, which would return the first response.
 * The body is valid in a POSIX shell and holds printable ASCII only, so that nothing in a terminal is hidden.
 */
export function sendCommand(email: GetEmailResponse, url: string): SendCommand {
  const { attachments, html, text, sandbox } = email
  const hasContent = html !== undefined || text !== undefined
  const missing = [
    ...(hasContent ? [] : ['html and text: their content is not stored']),
    ...attachments.map(({ filename }) => `attachment ${filename}: the content of files is not stored`),
  ]
  const body = JSON.stringify(bodyOf(email), undefined, 2)
  const parts = [
    `curl ${quoted(`${url}/api/v1/emails/send`)}`,
    '-H "Authorization: Bearer $VERDICT_API_KEY"',
    "-H 'Content-Type: application/json'",
    ...(sandbox ? ["-H 'X-Service-Sandbox: true'"] : []),
    `-d ${quoted(inAscii(body))}`,
  ]
  return { command: parts.join(CONTINUED), missing }
}

function bodyOf(email: GetEmailResponse) {
  const { from, to, cc, bcc, replyTo, subject, headers, tenantId, metadata, tag, html, text } = email
  return {
    from,
    to,
    ...(cc.length > 0 && { cc }),
    ...(bcc.length > 0 && { bcc }),
    ...(replyTo && { reply_to: addressesOf(replyTo) }),
    subject,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(tenantId !== undefined && { tenant_id: tenantId }),
    ...(tag !== undefined && { tag }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(html !== undefined && { html }),
    ...(text !== undefined && { text }),
    ...(html === undefined && text === undefined && { text: '<your text>' }),
  }
}

/** The addresses of a header field; a comma in a quoted name separates nothing. */
const addressesOf = (field: string) => (field.match(/(?:"(?:\\.|[^"\\])*"|[^,"])+/g) ?? []).map((one) => one.trim())

const inAscii = (json: string) =>
  json.replace(/[^\n -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

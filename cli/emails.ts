import { command, type Print } from './command.ts'
import { outcomeText, type PrintedOutcome, recipientText } from './outcome-text.ts'
import {
  readCalendar,
  readFiles,
  readHeaders,
  readMetadata,
  readMime,
  readSendKey,
  requireParts,
} from './send-options.ts'
import { callApi, dashboardLink, urlOption } from './service.ts'

// The fields of the service's response that are printed as text.

interface ExplainedOutcome extends PrintedOutcome {
  detail?: string
  smtp?: { mx?: string; code?: number; reply?: string }
}

interface SendResult extends ExplainedOutcome {
  message_id: string
  sandbox?: boolean
  recipients?: (ExplainedOutcome & { email: string; kind?: string })[]
}

export const sendCommand = (print: Print) =>
  command(
    'send',
    'verdict send --from hello@example.test --to delivered@simulator.test --subject Hello --text "It works."',
    'verdict send --from a@example.com --to b@example.org --subject Hi --text Hi --sandbox --json | jq -r .status',
    'verdict send --from a@example.com --to "Ann <ann@example.org>" --cc b@example.org --subject Invoice --text Hi --attach invoice.pdf',
    'verdict send --raw message.eml --to "Ann <ann@example.org>"',
  )
    .description("Send an email and wait for the verdict of the recipient's server")
    .option('--from <address>', 'The sender, in a verified domain (required without --raw)')
    .option('--to <address...>', 'A recipient, such as "Ann <ann@example.com>"; several times for several (required)')
    .option('--subject <text>', 'The subject (required without --raw)')
    .option('--text <text>', 'The plain text body')
    .option('--html <html>', 'The HTML body')
    .option('--auto-text', 'Make the plain text body from the HTML')
    .option('--raw <file>', 'A whole message that other software built, such as message.eml')
    .option('--cc <address...>', 'A recipient of a copy')
    .option('--bcc <address...>', 'A recipient whom no copy names')
    .option('--reply-to <address...>', 'An address that replies go to')
    .option('--header <header...>', 'A custom header, such as "X-Order: 1234"')
    .option('--attach <file...>', 'A file to attach, such as invoice.pdf or "data.bin;type=application/pdf"')
    .option('--calendar <file>', 'An invitation, such as invite.ics: its METHOD says what it asks for')
    .option('--metadata <pair...>', 'Your own data, such as order=1234')
    .option('--tag <tag>', 'Your own name for a group of emails')
    .option('--tenant <tenant_id>', 'Your own identifier for one of your customers')
    .option('--retry-of <message_id>', 'An earlier email, whose recipients could be retried')
    .option('--idempotency-key <key>', 'Your own key: a repeat with it sends nothing and prints the first outcome')
    .option('--sandbox', 'Check everything, send nothing')
    .addOption(urlOption())
    .action(async ({ header, attach, calendar, raw, tenant, idempotencyKey, sandbox, url, ...email }) => {
      const { replyTo: reply_to, retryOf: retry_of, autoText: auto_text, ...fields } = email
      requireParts({ ...fields, raw })
      const headers: Record<string, string> = {}
      if (sandbox) headers['x-service-sandbox'] = 'true'
      if (idempotencyKey !== undefined) headers['idempotency-key'] = readSendKey(idempotencyKey)
      const body = {
        ...fields,
        reply_to,
        auto_text,
        raw: await readMime(raw),
        headers: readHeaders(header),
        attachments: await filesOf(attach, calendar),
        metadata: readMetadata(email.metadata),
        tenant_id: tenant,
        retry_of,
      }
      const call = { url, path: '/api/v1/emails/send', body, headers }
      const result = (await callApi(call)) as unknown as SendResult
      print({ json: result, text: sendText(result, url), exit: result.status === 'delivered' ? 'ok' : 'failed' })
    })

async function filesOf(attach: string[] | undefined, calendar: string | undefined) {
  const files = [
    ...((await readFiles(attach)) ?? []),
    ...(calendar === undefined ? [] : [await readCalendar(calendar)]),
  ]
  return files.length > 0 ? files : undefined
}

function sendText(result: SendResult, url: string | undefined): string {
  const dryRun = result.sandbox ? ' (dry run: nothing was sent)' : ''
  const recipients = (result.recipients ?? []).map(
    (recipient) => `\n  ${recipientText(recipient)}: ${describeOutcome(recipient)}`,
  )
  return `${result.message_id}: ${describeOutcome(result)}${dryRun}${recipients.join('')}\n${dashboardLink(url, result.message_id)}`
}

function describeOutcome({ detail, smtp, ...outcome }: ExplainedOutcome): string {
  const reply = smtp?.reply ? `\n    ${smtp.mx ?? 'the server'} replied ${smtp.code ?? ''} ${smtp.reply}` : ''
  const why = detail ? `\n    ${detail}` : ''
  return outcomeText(outcome) + why + reply
}

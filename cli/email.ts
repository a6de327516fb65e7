import { Command } from '@commander-js/extra-typings'
import { command, type Print } from './command.ts'
import { outcomeText, type PrintedOutcome, recipientText } from './outcome-text.ts'
import { callApi, urlOption } from './service.ts'

// The fields of the service's response that are printed as text.

interface PrintedEvidence {
  mx?: string
  ip?: string
  code?: number
  enhanced?: string
  reply?: string
  phase: string
  tls: { version: string; verified: boolean; by?: string } | null
  duration_ms: number
  detail?: string
  timings?: Record<string, number>
  reused?: boolean
  transaction?: number
  tried?: { mx: string; ip?: string; phase: string; detail: string }[]
}

interface PrintedRecipient extends PrintedOutcome {
  email: string
  kind?: string
  retryable?: boolean
  detail?: string
  smtp?: PrintedEvidence
  suppression?: { scope: string; cause: string; since: string }
}

interface StoredEmail extends PrintedOutcome {
  message_id: string
  sandbox: boolean
  from: string
  to: string[]
  cc?: string[]
  bcc?: string[]
  reply_to?: string
  subject: string
  raw?: boolean
  headers: Record<string, string>
  tag?: string
  metadata?: Record<string, string>
  tenant_id?: string
  retry_of?: string
  retried_by?: string[]
  size_bytes: number
  attachments: { filename: string; content_type: string; size_bytes: number }[]
  recipients: PrintedRecipient[]
  events: { event_id: string; status: string; recipient: string; timestamp: string }[]
  feedback: { kind: string; reason?: string; reported_at: string; recipient: string; detail?: string }[]
  createdAt: string
  completedAt: string
  expiresAt: string
}

export const emailCommand = (print: Print) =>
  new Command('email')
    .summary('Show a sent email: get')
    .description('Show a sent email. To list emails: verdict emails')
    .addCommand(get(print))

const get = (print: Print) =>
  command(
    'get',
    'verdict email get msg_01jv3k8m5nfq0s2x7w9y4z6t1c',
    'verdict email get msg_01jv3k8m5nfq0s2x7w9y4z6t1c --json | jq .recipients[].smtp',
  )
    .description('Show an email with the outcome of each recipient, what its server said, and later reports')
    .argument('<message_id>')
    .addOption(urlOption())
    .action(async (id, { url }) => {
      const stored = await callApi({ url, path: `/api/v1/emails/${encodeURIComponent(id)}` })
      print({ json: stored, text: emailText(stored as unknown as StoredEmail) })
    })

/** The email from its fields to its reports, in the order in which they came about. */
function emailText(email: StoredEmail): string {
  const dryRun = email.sandbox ? ' (dry run: nothing was sent)' : ''
  const kinds = [...new Set(email.feedback.map(({ kind }) => kind))].join(', ')
  const later = kinds && `; reported later: ${kinds}`
  return [
    `${email.message_id}: ${outcomeText(email)}${later}${dryRun}`,
    ...emailFields(email).map(([name, value]) => `  ${`${name}:`.padEnd(12)} ${value}`),
    ...section('Recipients', email.recipients.map(describeRecipient)),
    ...section(
      'Events',
      email.events.map(({ event_id, status, recipient, timestamp }) => {
        return `${event_id} at ${timestamp}: ${recipient} ${status}`
      }),
    ),
    ...section(
      'Reports after the outcome',
      email.feedback.map(({ kind, reason, reported_at, recipient, detail }) => {
        const about = `${kind} about ${recipient} at ${reported_at}`
        return about + (reason ? `, ${reason}` : '') + (detail ? `: ${detail}` : '')
      }),
    ),
  ].join('\n')
}

/** The fields that the email has, in the order of a message's header. */
function emailFields(email: StoredEmail): [name: string, value: string][] {
  const pairs = (map: Record<string, string> = {}) => Object.entries(map).map(([key, value]) => `${key}=${value}`)
  const ms = Date.parse(email.completedAt) - Date.parse(email.createdAt)
  const fields: [string, string | undefined][] = [
    ['From', email.from],
    ['To', email.to.join(', ')],
    ['Cc', email.cc?.join(', ')],
    ['Bcc', email.bcc?.join(', ')],
    ['Reply-To', email.reply_to],
    ['Subject', email.subject],
    ['Built by', email.raw ? 'the sender (a raw message)' : undefined],
    ...Object.entries(email.headers),
    ['Tag', email.tag],
    ['Metadata', pairs(email.metadata).join(', ')],
    ['Tenant', email.tenant_id],
    ['Retry of', email.retry_of],
    ['Retried by', email.retried_by?.join(', ')],
    ['Attachments', email.attachments.map(describeFile).join(', ')],
    ['Size', email.size_bytes > 0 ? `${email.size_bytes} bytes` : undefined],
    ['Created', `${email.createdAt}, completed after ${ms} ms`],
    ['Kept until', email.expiresAt],
  ]
  return fields.filter((field): field is [string, string] => Boolean(field[1]))
}

const describeFile = ({ filename, content_type, size_bytes }: StoredEmail['attachments'][number]) =>
  `${filename} (${content_type}, ${size_bytes} bytes)`

const section = (heading: string, entries: string[]) =>
  entries.length > 0 ? [`${heading}:`, ...entries.map((entry) => `  ${entry.replaceAll('\n', '\n  ')}`)] : []

function describeRecipient({ detail, smtp, suppression, retryable, ...recipient }: PrintedRecipient): string {
  const again = retryable ? ' (you may send it again)' : ''
  const suppressed = suppression && `suppressed since ${suppression.since}: ${suppression.cause}, ${suppression.scope}`
  return [
    `${recipientText(recipient)}: ${outcomeText(recipient)}${again}`,
    ...[detail, suppressed, ...(smtp ? evidence(smtp) : [])].flatMap((line) => (line ? [`  ${line}`] : [])),
  ].join('\n')
}

/** What the recipient's server said, how the conversation went, and which servers were tried before. */
function evidence({ tried = [], timings = {}, ...smtp }: PrintedEvidence): string[] {
  const phases = Object.entries(timings).map(([phase, ms]) => `${phase} ${ms}`)
  const { code, enhanced, reply, tls } = smtp
  // The text of a reply often begins with its enhanced code.
  const said = [code, enhanced && !reply?.startsWith(enhanced) ? enhanced : undefined, reply].filter(Boolean).join(' ')
  const security = tls
    ? `${tls.version}, ${tls.verified ? 'valid' : 'no valid'} certificate${tls.by ? ` (${tls.by})` : ''}`
    : 'not encrypted'
  return [
    ...tried.map((host) => `tried ${hostOf(host)}: ${host.detail} (${host.phase})`),
    ...(said ? [`${hostOf(smtp)} replied ${said} (${smtp.phase})`] : [`${hostOf(smtp)} gave no reply (${smtp.phase})`]),
    ...(smtp.detail ? [smtp.detail] : []),
    [`${smtp.duration_ms} ms`, smtp.reused && 'open connection', smtp.mx && security, transactionOf(smtp)]
      .filter(Boolean)
      .join(', '),
    ...(phases.length > 0 ? [`ms: ${phases.join(', ')}`] : []),
  ]
}

const transactionOf = ({ transaction }: Pick<PrintedEvidence, 'transaction'>) =>
  transaction && `transaction ${transaction}`

const hostOf = ({ mx, ip }: { mx?: string; ip?: string }) => (mx ?? 'the server') + (ip ? ` [${ip}]` : '')

import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { isSought } from '../dashboard/outside-text/comparable.ts'
import { FEEDBACK_KINDS, REASON_CHOICES, STATUSES } from './choices.ts'
import { command, type Print } from './command.ts'
import type { PrintedOutcome } from './outcome-text.ts'
import { callApi, query, urlOption } from './service.ts'
import { pageText, table } from './table.ts'

/** The fields of the service's response that are printed as text. */
interface ListedEmail {
  message_id: string
  status: string
  reason?: string
  from: string
  subject: string
  recipients: (PrintedOutcome & { email: string })[]
  /** Absent in a response of 0.2. */
  feedback?: { kind: string; recipient: string; member?: boolean }[]
  sandbox: boolean
  createdAt: string
}

const PATH = '/api/v1/emails'

export const emailsCommand = (print: Print) =>
  command(
    'emails',
    'verdict emails --status bounced --from 2026-01-31',
    'verdict emails --subject "order 4102"',
    'verdict emails --recipient ann@example.com --json | jq -r .emails[].message_id',
  )
    .summary('List sent emails')
    .description('List sent emails, newest first. Filters can be combined.')
    .addOption(new Option('--status <status>', 'Only with this status').choices(STATUSES))
    .addOption(new Option('--reason <reason>', 'Only with this reason').choices(REASON_CHOICES))
    .addOption(
      new Option('--feedback <kind>', 'Only came back later, or only with a complaint').choices(FEEDBACK_KINDS),
    )
    .option('--recipient <address>', 'Only to this recipient')
    .option('--recipient-domain <domain>', 'Only to a recipient at this domain')
    .option('--bounced-by <provider>', 'Only bounced by this mailbox provider, such as microsoft, or this mail server')
    .option('--subject <words>', 'Only with all of these words in the subject')
    .option('--metadata <key=value>', 'Only with this pair in the metadata; may be repeated', readPair)
    .option('--domain <domain>', 'Only from this domain')
    .option('--sender <address>', 'Only from this address')
    .option('--tag <tag>', 'Only with this tag')
    .option('--tenant <tenant_id>', 'Only of this tenant')
    .addOption(new Option('--sandbox', 'Only dry runs').conflicts('live'))
    .option('--live', 'No dry runs')
    .option('--in-doubt', 'Only with a recipient in doubt')
    .option('--from <time>', 'Only from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--to <time>', 'Only before this time')
    .option('--limit <number>', 'How many emails to list, from 1 to 100; by default 50')
    .option('--cursor <cursor>', 'The next_cursor of the previous page')
    .addOption(urlOption())
    .action(async ({ url, tenant: tenant_id, sandbox, live, inDoubt, recipientDomain, bouncedBy, ...filters }) => {
      const more = { recipient_domain: recipientDomain, bounced_by: bouncedBy, tenant_id }
      const flags = { sandbox: sandbox ? 'true' : live ? 'false' : undefined, in_doubt: inDoubt ? 'true' : undefined }
      const page = await callApi({ url, path: PATH + query({ ...filters, ...more, ...flags }) })
      const heading = ['TIME', 'STATUS', 'REASON', 'RECIPIENT', 'SUBJECT', 'MESSAGE']
      const rows = (page.emails as ListedEmail[]).map((email) => emailRow(email, filters.recipient))
      print({ json: page, text: pageText(table(heading, rows, 'No email matches.'), page) })
    })

/** Adds a pair of the command line to those before it. */
function readPair(text: string, pairs: Record<string, string> = {}): Record<string, string> {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('It needs a key and a value, such as order=4102.')
  return { ...pairs, [text.slice(0, equals)]: text.slice(equals + 1) }
}

/**
 * A row names the recipient whose status it shows: the one sought, else one that a report is about, when the email was
 * delivered, else the first that gives the email its status.
 */
function emailRow(listed: ListedEmail, sought: string | undefined): string[] {
  const { createdAt, recipients, feedback = [], subject, message_id, sandbox, ...email } = listed
  const isNamed = ({ email }: { email: string }) => sought !== undefined && isSought(email, sought)
  const reportsOf = (one: { email: string }) => feedback.filter(({ recipient }) => recipient === one.email)
  const isReported = (one: { email: string }) =>
    email.status === 'delivered' && reportsOf(one).some(({ member }) => !member)
  const isWorst = ({ status, reason }: PrintedOutcome) => status === email.status && reason === email.reason
  const named = recipients.find(isNamed) ?? recipients.find(isReported) ?? recipients.find(isWorst) ?? recipients[0]!
  const { status, reason = '-', ...recipient } = named
  const more = recipients.length - 1
  const to = more > 0 ? `${recipient.email} and ${more} more${differenceOf(recipients)}` : recipient.email
  const later = reportsOf(named).map(({ kind, member }) => (member ? `${kind} of a member` : kind))
  const outcome = [sandbox ? `${status} (dry run)` : status, ...later].join(', ')
  return [createdAt, outcome, reason, to, subject, message_id]
}

/** How many recipients failed, where some did and others did not. */
function differenceOf(recipients: PrintedOutcome[]): string {
  const failed = recipients.filter(({ status }) => status !== 'delivered').length
  return failed > 0 && failed < recipients.length ? ` (${failed} of ${recipients.length} failed)` : ''
}

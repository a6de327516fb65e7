import { readFile } from 'node:fs/promises'
import { Option } from '@commander-js/extra-typings'
import { sentenceOf } from '../dashboard/messages/sentences.ts'
import { DeliveryStatus } from '../gen/verdict/v1/outcomes_pb.ts'
import type { Kind, ReplyReading } from '../mail/smtp/attempt.ts'
import { classify } from '../mail/smtp/classify.ts'
import { toReply } from '../mail/smtp/reply.ts'
import { readAs } from '../mail/smtp/rules.ts'
import { reasonNames } from '../server/db/outcome-names.ts'
import type { FailedRecipient } from '../server/inbound/diagnosis.ts'
import { kindAgainst, mailboxOf } from '../server/inbound/member.ts'
import { type Report, readReport } from '../server/inbound/report.ts'
import { CliError, command, type Output, type Print } from './command.ts'

export const PHASES = ['greeting', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'dot', 'late'] as const
const REPLY = /^([2-5]\d\d)(?:[ -](.*))?$/s

export const explainCommand = (print: Print) =>
  command(
    'explain',
    'verdict explain "550 5.1.1 User unknown"',
    'verdict explain "554 5.7.1 Message rejected as spam" --phase dot',
    'verdict explain --file bounce.eml --to ann@example.com',
  )
    .summary("Say how a mail server's reply, or a mail that came back, is read")
    .description(
      'Say how a reply is read, given with its codes: the outcome, what the reply speaks of, and the rule that decided. ' +
        'With --file, how a bounce or a complaint is read that came back later.',
    )
    .argument('[reply]')
    .option('--file <file>', 'A mail that came back, as a file with its header')
    .addOption(
      new Option(
        '--phase <phase>',
        'What it answers: the greeting or a command, the final dot, or nothing (a late bounce)',
      )
        .choices(PHASES)
        .default('rcpt' as const),
    )
    .option('--mx <host>', 'The name of the server')
    .option('--to <address>', 'The recipient')
    .option('--ours <name...>', 'Names that the server may have for the sender: HELO name, addresses, domains')
    .action(async (text, { file, phase, mx = '', to, ours }) => {
      if (file !== undefined && text !== undefined)
        throw new CliError('usage', 'reply: is not read beside --file. Give one of them.')
      if (file !== undefined) return print(shownReport(await reportIn(file), to))
      if (text === undefined) throw new CliError('usage', 'reply: is missing. Give a reply, or a mail with --file.')
      const explanation = explanationOf(text, { phase, mx, recipient: to, ours })
      print({ json: explanation, text: explanationText(explanation) })
    })

async function reportIn(file: string): Promise<Report> {
  try {
    return await readReport(await readFile(file))
  } catch (error) {
    throw new CliError('usage', `${file} cannot be read: ${(error as Error).message}`)
  }
}

/** @param recipient the address that the message was sent to; by default the one that the report names */
function shownReport(report: Report, recipient: string | undefined): Output {
  if (report.kind === 'none') return { json: { report: 'none', why: report.why }, text: `no report: ${report.why}` }
  if (report.kind === 'unread') {
    const why = 'a mail system wrote it, and nothing in it is a failure that we can read'
    return { json: { report: 'none', why }, text: `no report: ${why}` }
  }
  if (report.kind === 'complaint') {
    const { type, addresses } = report
    const complaint = { report: 'complaint', type, recipients: addresses, suppresses: 'at once, for good' }
    return {
      json: complaint,
      text: `complaint: ${type}\nabout: ${addresses.join(', ') || 'the recipient'}\nsuppresses the address: at once, for good`,
    }
  }
  const failures = report.failures.map((failure) => explainedFailure(failure, recipient))
  const text = failures.map(
    ({ recipient, ...rest }) => `bounce of ${recipient ?? 'the recipient'}\n${explanationText(rest)}`,
  )
  return { json: { report: 'bounce', failures }, text: text.join('\n\n') }
}

function explainedFailure(failure: FailedRecipient, recipient = failure.addresses[0]) {
  const { reason, readAs, decidedBy, words, code, enhanced, reply, failedAddress } = failure
  const mailbox = failedAddress === undefined || recipient === undefined ? 'same' : mailboxOf(failedAddress, recipient)
  const kind = kindAgainst(failure.kind, mailbox)
  return {
    recipient,
    state: 'bounced',
    reason,
    read_as: readAs,
    kind,
    decided_by: decidedBy,
    words,
    code,
    enhanced,
    reply,
    ...(mailbox === 'member' && { member: true, failed: failedAddress }),
    suppresses: kind ? SUPPRESSES[kind] : 'never',
  }
}

interface Placed {
  phase: (typeof PHASES)[number]
  mx: string
  recipient?: string
  ours?: string[]
}

interface Explanation {
  state: string
  reason?: string
  retryable?: boolean
  read_as?: string
  kind?: string
  decided_by?: string
  words?: string
  suppresses?: string
  member?: boolean
  failed?: string
}

/** Says how a reply is read. Throws a CliError when the text is no reply. */
export function explanationOf(text: string, { phase, mx, recipient, ours }: Placed): Explanation {
  const [, code, words = ''] = REPLY.exec(text.trim()) ?? []
  if (code === undefined)
    throw new CliError('usage', 'reply: begins with no code. Write it as the server did: "550 5.1.1 no"')
  const lines = words.split(new RegExp(`\\r?\\n| (?=${code}[ -])`)).map((line) => line.replace(/^[2-5]\d\d[ -]/, ''))
  const reply = toReply({ code: Number(code), lines })
  const { outcome, reading } = classify({ phase, reply, mx, names: { recipient, ours } })
  if (outcome.kind !== 'bounced') return { state: outcome.kind }
  const { reason, retryable } = outcome
  return {
    state: 'bounced',
    reason,
    retryable,
    ...(reading && evidenceOf(reading)),
    suppresses: reading?.kind ? SUPPRESSES[reading.kind] : 'never',
  }
}

function evidenceOf({ subject, row, kind, decidedBy, words }: ReplyReading) {
  return { read_as: readAs({ subject, row }), kind, decided_by: decidedBy, words }
}

/** The rules of incidents.ts in words. */
const SUPPRESSES: Record<Kind, string> = {
  unknown: 'at once; an address that took mail in the last 90 days for 7 days, and for good at its next incident',
  status: 'at its second incident within 30 days, for 30 days',
  refused: 'at its second incident within 30 days, for 30 days',
  full: 'at its third incident within 30 days, for 7 days',
}

function explanationText({ state, reason, retryable, suppresses, member, failed, ...evidence }: Explanation): string {
  const outcome = [state, reason].filter((word) => word).join('/') + (retryable ? ' (you may send it again)' : '')
  const { read_as, kind, decided_by, words } = evidence
  if (read_as === undefined) return outcome
  return [
    outcome,
    reason && sentencesOf(reason),
    `read as: about ${read_as}`,
    kind === undefined ? undefined : `kind: ${kind}`,
    `decided by: ${words === undefined ? `its ${decided_by}` : `its words "${words}"`}`,
    member ? `another mailbox failed: ${failed}` : undefined,
    `suppresses the address: ${suppresses}`,
  ]
    .filter((line) => line !== undefined)
    .join('\n')
}

/** What a reason means, and what to do. */
function sentencesOf(reason: string): string {
  const { what, advice = '' } = sentenceOf({ status: DeliveryStatus.BOUNCED, reason: reasonNames.value(reason) })
  const text = `${what} ${advice}`
    .replaceAll('{address}', 'the recipient')
    .replaceAll('{domain}', "the recipient's domain")
  return text.charAt(0).toUpperCase() + text.slice(1).trimEnd()
}

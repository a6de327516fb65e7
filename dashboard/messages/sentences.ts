import { DeliveryStatus, FeedbackKind, Reason } from '../../gen/verdict/v1/outcomes_pb.ts'

/** What the sentence about a recipient depends on. */
export interface SentenceFacts {
  email: string
  status: DeliveryStatus
  reason?: Reason
  inDoubt?: boolean
  retryable?: boolean
  detail?: string
  smtp?: { readAs?: string }
}

/** A sentence to show. `{address}` stands for the recipient's address, `{domain}` for its domain. */
export interface Sentence {
  /** What happened. */
  what: string
  /** What to do, or what it does not mean. */
  advice?: string
}

const DELIVERED: Sentence = {
  what: 'the mail server of {domain} accepted the message for {address}.',
  advice: 'Only the recipient can see whether it is in the inbox or in a spam folder.',
}

const IN_DOUBT: Sentence = {
  what: 'the mail server of {domain} received the whole message, and its reply was lost.',
  advice: 'The message may or may not have arrived. Verdict never sends it again. Ask {address} before you do.',
}

/** Only a bounce by a fault of the service has a detail: no server refused it. */
const OURS: Sentence = {
  what: 'a fault of this service kept it from {address}: nothing was sent there.',
  advice: 'You can send it again to this address. Verdict does not repeat it.',
}

/** Servers that do not know a sender accept the same mail from the same address a few minutes later. */
const GREYLISTED: Sentence = {
  what: 'the mail server of {domain} makes senders wait whom it does not know (greylisting).',
  advice: 'Send it again in a few minutes: it is usually accepted then. Verdict does not repeat it.',
}

const REASONS: Record<Reason, Sentence | undefined> = {
  [Reason.UNSPECIFIED]: undefined,
  [Reason.MAILBOX_FULL]: {
    what: 'the mailbox of {address} is full.',
    advice: 'You can send it again later.',
  },
  [Reason.MAILBOX_DOES_NOT_EXIST]: {
    what: '{address} has no mailbox.',
    advice: 'Check the spelling, or ask for another address.',
  },
  [Reason.NO_MX_RECORD]: {
    what: '{domain} has no mail server.',
    advice: 'Check the spelling of the domain.',
  },
  [Reason.CONNECTION_TIMEOUT]: {
    what: 'no mail server of {domain} could be reached in time.',
    advice: 'You can send it again later.',
  },
  [Reason.POLICY_BLOCK]: {
    what: 'the mail server of {domain} refused it because of its rules.',
    advice: 'Its own words below say which rule. Sending it again does not help until the cause is gone.',
  },
  [Reason.SPAM_BLOCKED]: {
    what: 'the mail server of {domain} takes the content for spam or harmful.',
    advice: 'Change the content before you send it again.',
  },
  [Reason.TEMPORARY_FAILURE]: {
    what: 'the mail server of {domain} refused it for now.',
    advice: 'You can send it again in a few minutes. Verdict does not repeat it.',
  },
  [Reason.SUPPRESSION_LIST]: {
    what: '{address} is on a suppression list, so nothing was sent.',
    advice: 'Remove it from the list first if the recipient wants your mail.',
  },
  [Reason.INVALID_ADDRESS]: {
    what: '{address} can never receive mail, so nothing was sent.',
    advice: 'Ask for another address.',
  },
  [Reason.DOMAIN_NOT_VERIFIED]: {
    what: 'the domain in From is not verified, so nothing was sent.',
    advice: 'Publish its DNS records, and send it again.',
  },
}

const OF_STATUS: Record<DeliveryStatus, Sentence> = {
  [DeliveryStatus.UNSPECIFIED]: { what: 'the outcome is unknown.' },
  [DeliveryStatus.DELIVERED]: DELIVERED,
  [DeliveryStatus.BOUNCED]: { what: 'the mail server of {domain} did not accept it.' },
  [DeliveryStatus.REJECTED]: { what: 'nothing was sent to {address}.' },
}

const RETRYABLE = 'You can send it again in a few minutes. Verdict does not repeat it.'

/** The sentence about one recipient. A reason of a later version has the sentence of its status. */
export function sentenceOf({
  status,
  reason,
  inDoubt,
  retryable,
  detail,
  smtp,
}: Omit<SentenceFacts, 'email'>): Sentence {
  if (inDoubt) return IN_DOUBT
  if (status === DeliveryStatus.BOUNCED && detail) return OURS
  if (reason === Reason.TEMPORARY_FAILURE && smtp?.readAs?.includes('greylisting')) return GREYLISTED
  const known = reason === undefined ? undefined : REASONS[reason]
  const sentence = known ?? OF_STATUS[status] ?? OF_STATUS[DeliveryStatus.UNSPECIFIED]
  return retryable && !sentence.advice ? { ...sentence, advice: RETRYABLE } : sentence
}

const DRY_RUN: Record<DeliveryStatus, string> = {
  [DeliveryStatus.UNSPECIFIED]: 'this was a dry run, and nothing was sent.',
  [DeliveryStatus.DELIVERED]: 'this was a dry run, and nothing was sent. The message passed every check.',
  [DeliveryStatus.BOUNCED]: 'this was a dry run, and nothing was sent. A send would have bounced: ',
  [DeliveryStatus.REJECTED]: 'this was a dry run. A send would have been rejected: ',
}

const COUNTED: [of: (outcome: SentenceFacts) => boolean, words: string][] = [
  [({ inDoubt }) => inDoubt === true, 'in doubt'],
  [({ status, inDoubt }) => status === DeliveryStatus.BOUNCED && !inDoubt, 'bounced'],
  [({ status }) => status === DeliveryStatus.REJECTED, 'rejected'],
  [({ status }) => status === DeliveryStatus.DELIVERED, 'delivered'],
]

/**
 * The sentence on top of a message, and the recipient that its `{address}` stands for. With several recipients it is
 * about those who did not get the message: the one, or how many there are of each kind.
 */
export function sentenceOfMessage(
  recipients: SentenceFacts[],
  sandbox: boolean,
): { sentence: Sentence; about: SentenceFacts } {
  const failed = recipients.filter(({ status }) => status !== DeliveryStatus.DELIVERED)
  const about = failed[0] ?? recipients[0]!
  const alone = sentenceOf(about)
  if (sandbox) return { sentence: dryRun(about, alone), about }
  if (recipients.length === 1) return { sentence: alone, about }
  if (failed.length === 0) {
    const what = `the mail servers of all ${recipients.length} recipients accepted the message.`
    return { sentence: { ...DELIVERED, what, advice: 'Only they can see whether it is in the inbox.' }, about }
  }
  if (failed.length === 1) {
    const others =
      recipients.length === 2 ? 'The other recipient has it.' : `The other ${recipients.length - 1} have it.`
    return { sentence: { what: `${alone.what} ${others}`, advice: alone.advice }, about }
  }
  const counts = COUNTED.map(([of, word]) => [recipients.filter(of).length, word] as const)
  const words = counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`)
  return {
    sentence: { what: `of ${recipients.length} recipients, ${listed(words)}.`, advice: 'Open each one below.' },
    about,
  }
}

/** What was reported after the outcome. */
export interface LateReport {
  email: string
  feedback: FeedbackKind
  /** Another mailbox failed than that of the recipient. */
  member?: boolean
}

const REPORTS: Record<FeedbackKind, Sentence> = {
  [FeedbackKind.UNSPECIFIED]: { what: 'a report about {address} arrived.' },
  [FeedbackKind.COMPLAINT]: {
    what: '{address} complained about it.',
    advice: 'Send no more of such mail to this address.',
  },
  [FeedbackKind.LATE_BOUNCE]: {
    what: 'the message came back: it did not reach {address}.',
    advice: 'A server had accepted it, and could not deliver it. It is not sent again.',
  },
}

const OF_MEMBER: Sentence = {
  what: 'a copy of the message came back: a mailbox behind {address} did not get it.',
  advice: 'Such a mailbox may be a member of a list. This address is not held to it.',
}

/** The sentence about the first report, with how many more there are; undefined without a report. */
export function sentenceOfReports(reports: LateReport[]): { sentence: Sentence; about: LateReport } | undefined {
  const [about] = reports
  if (!about) return undefined
  const ofKind = REPORTS[about.feedback] ?? REPORTS[FeedbackKind.UNSPECIFIED]
  const { what, advice } = about.member && about.feedback === FeedbackKind.LATE_BOUNCE ? OF_MEMBER : ofKind
  if (reports.length === 1) return { sentence: { what, advice }, about }
  const others = reports.length === 2 ? 'One more report is' : `${reports.length - 1} more reports are`
  return { sentence: { what, advice: `${others} below.` }, about }
}

function dryRun({ status }: SentenceFacts, alone: Sentence): Sentence {
  const what = DRY_RUN[status] ?? DRY_RUN[DeliveryStatus.UNSPECIFIED]
  if (!what.endsWith(' ')) return { what }
  return { what: what + alone.what.replace(', so nothing was sent', ''), advice: alone.advice }
}

const listed = (words: string[]) => new Intl.ListFormat('en').format(words)

/** Splits a sentence at its placeholders, so that text from outside is isolated in it. */
export function piecesOf(text: string, email: string): { text: string; isOutside: boolean }[] {
  const values: Record<string, string> = { '{address}': email, '{domain}': email.slice(email.lastIndexOf('@') + 1) }
  return text
    .split(/(\{address\}|\{domain\})/)
    .filter((piece) => piece !== '')
    .map((piece) => ({ text: values[piece] ?? piece, isOutside: piece in values }))
}

import { publicId } from '../db/ids.ts'
import type { NoticeRow, Together } from './due-notices.ts'
import type { TroubleKind } from './troubles.ts'

// The texts of notices. They name a host, a domain or a provider, counts and a link; never a recipient or a subject.

export interface NoticeText {
  subject: string
  /** Sentences without a link. */
  sentences: string
  link: string
}

interface NoticeWords {
  page: (about: NoticeRow) => string
  begins(notice: Told): [subject: string, sentences: string]
  ends(notice: Told): [subject: string, sentences: string]
}

type Told = Pick<NoticeRow, 'subject' | 'sinceMs' | 'waiting'>

const WORDS: Record<TroubleKind, NoticeWords> = {
  endpoint_failing: {
    page: () => 'settings/webhook',
    begins: ({ subject, sinceMs, waiting }) => [
      `Your webhook endpoint at ${subject} fails`,
      `Your webhook endpoint at ${subject} has acknowledged no event since ${timeOf(sinceMs)}. ${eventsThatWait(waiting)} Verdict repeats its attempts, less and less often.`,
    ],
    ends: ({ subject }) => [
      `Your webhook endpoint at ${subject} works again`,
      `Your webhook endpoint at ${subject} acknowledges events again.`,
    ],
  },
  breaker_open: {
    page: domainPage,
    begins: ({ subject, sinceMs }) => [
      `Sending from ${subject} is paused`,
      `Too much mail of ${subject} bounced or led to complaints. Its circuit breaker opened at ${timeOf(sinceMs)}: it refuses all mail at first, and then admits a little at a time.`,
    ],
    ends: ({ subject }) => [
      `Sending from ${subject} is no longer paused`,
      `The circuit breaker admits all mail of ${subject} again.`,
    ],
  },
  domain_lapsed: {
    page: domainPage,
    begins: ({ subject, sinceMs }) => [
      `${subject} is no longer verified`,
      `The DNS records of ${subject} have failed their checks since ${timeOf(sinceMs)}. Its mail is refused until they are found again.`,
    ],
    ends: ({ subject }) => [
      `${subject} is verified again`,
      `The DNS records of ${subject} are found again. Its mail is sent.`,
    ],
  },
  provider_refuses: {
    page: ({ subject }) => `messages?${new URLSearchParams({ bounced_by: subject, reason: 'policy_block' })}`,
    begins: ({ subject, sinceMs, waiting }) => [
      `${subject} refuses your mail`,
      `The mailbox provider ${subject} has blocked ${emailsOf(waiting)} by policy within an hour, by ${timeOf(sinceMs)}: half or more of what you sent there. Its replies name the cause, mostly with a link to follow.`,
    ],
    ends: ({ subject }) => [
      `${subject} no longer refuses your mail`,
      `The mailbox provider ${subject} has blocked less than half of your emails in the last hour.`,
    ],
  },
  provider_bad_hour: {
    page: () => 'suppressions',
    begins: ({ subject, sinceMs, waiting }) => [
      `${subject} refuses addresses that exist`,
      `The mailbox provider ${subject} refuses many addresses as unknown that took mail before. It has refused ${addressesOf(waiting)} of yours by ${timeOf(sinceMs)}. They are suppressed for seven days at most, and no breaker counts them.`,
    ],
    ends: ({ subject }) => [
      `${subject} no longer refuses addresses that exist`,
      `The mailbox provider ${subject} refuses no more addresses than usual. You may lift the entries of that time on the page of suppressions.`,
    ],
  },
}

/** The page of a domain. */
function domainPage({ subjectId }: NoticeRow): string {
  return `domains/${publicId('dom', subjectId!)}`
}

const emailsOf = (count: number | null) => (count === 1 ? 'one email' : `${count ?? 0} emails`)
const addressesOf = (count: number | null) => (count === 1 ? 'one address' : `${count ?? 0} addresses`)

/** The troubles that a mail or a post lists at most. */
const MOST_LISTED = 20

/** A text for each of some troubles of an account; the last one counts those beyond the most that are listed. */
export function troubleTexts(notices: Together, publicUrl: string): [NoticeText, ...NoticeText[]] {
  const [first, ...others] = notices
  const listed = others.slice(0, MOST_LISTED - 1).map((notice) => troubleText(notice, publicUrl))
  const more = others.length - listed.length
  const link = notificationsUrl(first, publicUrl)
  const rest = more === 0 ? [] : [{ subject: '', sentences: `And ${more} more:`, link }]
  return [troubleText(first, publicUrl), ...listed, ...rest]
}

function troubleText(notice: NoticeRow, publicUrl: string): NoticeText {
  const { page, begins, ends } = WORDS[notice.kind as TroubleKind]
  const [subject, sentences] = notice.isOver ? ends(notice) : begins(notice)
  return { subject, sentences, link: `${accountUrl(publicUrl, notice.accountId!)}/${page(notice)}` }
}

/** A mail about some troubles of an account. */
export function troubleMail(notices: Together, publicUrl: string): { subject: string; text: string } {
  const texts = troubleTexts(notices, publicUrl)
  const more = notices.length - 1
  const subject = more === 0 ? texts[0].subject : `${texts[0].subject} (and ${more} more)`
  const list = texts.map(({ sentences, link }) => `${sentences}\n\n${link}\n\n`).join('')
  return { subject, text: `${list}Choose your notifications: ${notificationsUrl(notices[0], publicUrl)}\n` }
}

/** The body of a post to a notification URL. Slack takes three characters for markup. */
export function chatBody(texts: readonly NoticeText[]): Buffer {
  const lines = texts.map(({ sentences, link }) => `${sentences} ${link}`)
  const text = lines.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return Buffer.from(JSON.stringify({ text }))
}

export const testText = (publicUrl: string): NoticeText => ({
  subject: '',
  sentences: 'This is a test of Verdict. Notifications of your account arrive here.',
  link: `${publicUrl}/dashboard/`,
})

export function invitationMail(link: string): { subject: string; text: string } {
  return {
    subject: 'You are invited to Verdict',
    text: `You are invited to use Verdict at ${new URL(link).host}. Open this link to join. It works once, for seven days:\n\n${link}\n\nIf you do not know why you got this mail, ignore it.\n`,
  }
}

export function resetMail(link: string): { subject: string; text: string } {
  return {
    subject: 'Set a new password',
    text: `Open this link to set a new password for Verdict at ${new URL(link).host}. It works once, for one hour:\n\n${link}\n\nIf you did not ask for it, ignore this mail: your password stays as it is.\n`,
  }
}

const notificationsUrl = ({ accountId }: NoticeRow, publicUrl: string) =>
  `${accountUrl(publicUrl, accountId!)}/settings/notifications`

const accountUrl = (publicUrl: string, accountId: string) => `${publicUrl}/dashboard/${publicId('acc', accountId)}`

function eventsThatWait(count: number | null): string {
  if (count === 1) return 'One event waits for it.'
  return `${count ?? 0} events wait for it.`
}

/** `2026-01-31 12:00 UTC`. */
const timeOf = (ms: number | null) => `${new Date(ms ?? 0).toISOString().slice(0, 16).replace('T', ' ')} UTC`

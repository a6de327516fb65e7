import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { linkOf } from '../access/people/invitations.ts'
import { createLinkTokens } from '../access/people/mail-links.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { run } from '../db/statement.ts'
import type { Post, PostResult } from '../webhooks/post.ts'
import { endTry, leaseDue, type NoticeRow, type TryEnd } from './due-notices.ts'
import type { HouseMail, SendHouseMail } from './house.ts'
import { createNotificationUrls } from './notification-urls.ts'
import { chatBody, invitationMail, resetMail, troubleMail, troubleText } from './texts.ts'

// The path of a notice:
//
//   troubles.ts        troubles, read from the state of endpoints, breakers and domains
//   find-notices.ts    a row for each receiver that does not know of it yet, and for each that was told when it is over
//   send-notices.ts    takes the rows that are due, under a lease (due-notices.ts), and sends them (this file)
//   house.ts           mail, by the recipe of every send, for an account without a row
//   notification-urls.ts  a post in the form of Slack, through the guard of webhooks
//
// Invitations and the reset of a password are notices, too (access/people/).

/** Delays before the next try of a notice, after each one whose outcome was certain. */
const DELAYS_MS = [60_000, 300_000, 900_000, 3_600_000]
/** After a fault of our own. The same send is tried again: see `createSendHouseMail`. */
const AFTER_FAULT_MS = 30_000
const SLOT_MS = 5_000

interface Parts {
  db: Database
  sealer: Sealer
  post: Post
  /** undefined without NOTIFY_FROM. */
  sendMail?: SendHouseMail
  publicUrl(): string
  leaseMs: number
  /** Is called with each try that ended, and with faults. */
  report(
    end: { kind: NoticeRow['kind']; channel: NoticeRow['channel']; state: TryEnd['state'] } | { error: unknown },
  ): void
}

type NoticeMail = Omit<HouseMail, 'key'> & { personId?: string }

export interface NoticeSender {
  /** Sends the notices that are due. Resolves when all their tries have ended. */
  sendDue(): Promise<void>
}

export function createNoticeSender(parts: Parts): NoticeSender {
  const { db, sealer, leaseMs, report } = parts
  const urls = createNotificationUrls({ db, sealer })
  const resetLinks = createLinkTokens(sealer, 'reset')
  const invitationLinks = createLinkTokens(sealer, 'invitation')

  async function send(notice: NoticeRow): Promise<void> {
    const end = await tryOnce(notice).catch((error): TryEnd => {
      report({ error })
      return { state: 'again', delayMs: AFTER_FAULT_MS, outcome: 'fault of the service' }
    })
    await endTry(db, notice.id, end)
    report({ kind: notice.kind, channel: notice.channel, state: end.state })
  }

  async function tryOnce(notice: NoticeRow): Promise<TryEnd> {
    if (notice.channel === 'url') return postOnce(notice)
    const mail = await mailOf(notice)
    if (!parts.sendMail || !mail) return { state: 'cancelled' }
    const { personId, ...rest } = mail
    const {
      status,
      isRetryable,
      text: outcome,
    } = await parts.sendMail({ key: `${notice.id} ${notice.tries}`, ...rest })
    if (status === DeliveryStatus.DELIVERED) return { state: 'sent', outcome, personId }
    return isRetryable ? later(notice, outcome) : { state: 'failed', outcome, personId }
  }

  async function postOnce(notice: NoticeRow): Promise<TryEnd> {
    const url = await urls.open(notice.accountId!)
    if (url === undefined) return { state: 'cancelled' }
    const body = chatBody(troubleText(notice, parts.publicUrl()))
    const result = await parts.post(url, CHAT_HEADERS, body, { endpointId: notice.accountId! })
    if (!result) return { state: 'again', delayMs: SLOT_MS, outcome: 'no free connection' }
    const outcome = chatOutcome(result)
    return isTold(result) ? { state: 'sent', outcome } : later(notice, outcome)
  }

  async function mailOf(notice: NoticeRow): Promise<NoticeMail | undefined> {
    if (notice.kind === 'password_reset') return resetOf(notice)
    if (notice.kind === 'invitation') return invitationOf(notice)
    const [person] = await run<{ email: string }>(db, STILL_TOLD, [notice.accountId, notice.personId, notice.kind])
    return person && { to: person.email, ...troubleMail(notice, parts.publicUrl()) }
  }

  async function resetOf({ id, email }: NoticeRow): Promise<NoticeMail | undefined> {
    const [person] = await run<{ id: string; email: string; resets: number }>(db, WITH_PASSWORD, [email, id])
    if (!person || person.resets >= RESETS_PER_HOUR) return undefined
    const link = `${parts.publicUrl()}/dashboard/reset/${resetLinks.tokenOf(id)}`
    return { to: person.email, personId: person.id, ...resetMail(link) }
  }

  async function invitationOf({ subjectId }: NoticeRow): Promise<NoticeMail | undefined> {
    const [invitation] = await run<{ id: string; email: string }>(db, WAITING_INVITATION, [subjectId])
    if (!invitation) return undefined
    const link = linkOf(parts.publicUrl(), { token: invitationLinks.tokenOf(invitation.id) })
    return { to: invitation.email, ...invitationMail(link) }
  }

  return {
    async sendDue() {
      const due = await leaseDue(db, leaseMs)
      await Promise.all(due.map((notice) => send(notice).catch((error) => report({ error }))))
    },
  }
}

/** Also when the person has left the account, or chose otherwise, since the notice was found. */
const STILL_TOLD = `
  select p.email from members m
  join people p on p.id = m.person_id
  left join notification_choices c on c.account_id = m.account_id and c.person_id = m.person_id
  where m.account_id = $1 and m.person_id = $2
    and case when c.kinds is null then m.role = 'owner' else $3 = any(c.kinds) end`

/** More mails than this tell the person nothing, and fill the mailbox. */
const RESETS_PER_HOUR = 3

const WAITING_INVITATION = 'select id, email from invitations where id = $1 and ended_at is null and expires_at > now()'

/** Resets that were requested earlier and wait count, too: those of one moment are sent side by side. */
const WITH_PASSWORD = `
  select p.id, p.email, (
    select count(*)::int from notices n
    where n.kind = 'password_reset' and n.created_at > now() - interval '1 hour'
      and (n.person_id = p.id and n.state = 'sent' or n.email = p.email and n.state = 'waiting' and n.id < $2)
  ) as resets
  from people p
  where p.email = $1
    and exists (select from credentials c where c.person_id = p.id and c.provider_id = 'credential' and c.password is not null)`

function later({ tries }: NoticeRow, outcome: string): TryEnd {
  const delayMs = DELAYS_MS[tries]
  if (delayMs === undefined) return { state: 'failed', outcome, isCounted: true }
  return { state: 'again', delayMs, outcome, isCounted: true }
}

export const CHAT_HEADERS = { 'Content-Type': 'application/json', 'User-Agent': 'Verdict' }

/** Some receivers of this form respond with another success than 200. */
export const isTold = ({ statusCode = 0 }: PostResult) => statusCode >= 200 && statusCode < 300

const chatOutcome = ({ statusCode, code, outcome }: PostResult) =>
  statusCode === undefined ? (code ?? outcome) : `HTTP ${statusCode}`

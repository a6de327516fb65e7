import { createHash } from 'node:crypto'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { linkOf } from '../access/people/invitations.ts'
import { createLinkTokens, type LinkTokens } from '../access/people/mail-links.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { run } from '../db/statement.ts'
import { USER_AGENT } from '../webhooks/attempt/signature.ts'
import type { Post, PostResult } from '../webhooks/post/post.ts'
import { endTry, leaseDue, type NoticeRow, type Together, type TryEnd, type TryResult } from './due-notices.ts'
import type { HouseMail, SendHouseMail } from './house.ts'
import { createNotificationUrls, type NotificationUrls } from './notification-urls.ts'
import { chatBody, invitationMail, resetMail, troubleMail, troubleTexts } from './texts.ts'

// The path of a notice:
//
//   troubles.ts        troubles, read from the state of endpoints, breakers and domains
//   find-notices.ts    a row for each receiver that does not know of it yet, and for each that was told when it is over
//   send-notices.ts    takes the rows that are due, under a lease (due-notices.ts), and sends them (this file)
//   house.ts           mail, by the recipe of every send, for an account without a row
//   notification-urls.ts  a post in the form of Slack, through the guard of webhooks
//
// Invitations and the reset of a password are notices, too (access/people/).

/** After our own fault. The same send is tried again: see `createSendHouseMail`. */
const AFTER_FAULT_MS = 30_000
const SLOT_MS = 5_000

interface NoticeSenderParts {
  db: Database
  sealer: Sealer
  post: Post
  /** undefined without NOTIFY_FROM. */
  sendMail?: SendHouseMail
  publicUrl(): string
  leaseMs: number
  /** Is called for each notice of a try that ended, and with faults. */
  report(end: TryResult | { error: unknown }): void
}

type NoticeMail = Omit<HouseMail, 'key'>

export class NoticeSender {
  readonly #parts: NoticeSenderParts
  readonly #urls: NotificationUrls
  readonly #resetLinks: LinkTokens
  readonly #invitationLinks: LinkTokens

  constructor(parts: NoticeSenderParts) {
    this.#parts = parts
    this.#urls = createNotificationUrls(parts)
    this.#resetLinks = createLinkTokens(parts.sealer, 'reset')
    this.#invitationLinks = createLinkTokens(parts.sealer, 'invitation')
  }

  /** Sends the notices that are due. Resolves when all their tries have ended. */
  async sendDue(): Promise<void> {
    const { db, leaseMs, report } = this.#parts
    const due = await leaseDue(db, leaseMs)
    await Promise.all(due.map((notices) => this.#send(notices).catch((error) => report({ error }))))
  }

  async #send(notices: Together): Promise<void> {
    const end = await this.#tryOnce(notices).catch((error): TryEnd => {
      this.#parts.report({ error })
      return { state: 'again', repeatAfterMs: AFTER_FAULT_MS, outcome: 'fault of the service' }
    })
    for (const result of await endTry(this.#parts.db, notices, end)) this.#parts.report(result)
  }

  async #tryOnce(notices: Together): Promise<TryEnd> {
    const [notice] = notices
    if (notice.channel === 'url') return this.#postOnce(notices)
    switch (notice.kind) {
      case 'password_reset':
        return this.#mailOnce(notices, await this.#resetOf(notice))
      case 'invitation':
        return this.#mailOnce(notices, await this.#invitationOf(notice))
      case 'endpoint_failing':
      case 'breaker_open':
      case 'domain_lapsed':
      case 'provider_refuses':
      case 'provider_bad_hour':
        return this.#mailTroubles(notices)
      default:
        throw new Error(`no mail for the notice ${notice.kind satisfies never}`)
    }
  }

  async #mailOnce(notices: Together, mail: NoticeMail | undefined): Promise<TryEnd> {
    if (!this.#parts.sendMail || !mail) return { state: 'cancelled' }
    const {
      status,
      isRetryable,
      text: outcome,
      messageId,
    } = await this.#parts.sendMail({ key: keyOf(notices), ...mail })
    if (status === DeliveryStatus.DELIVERED) return { state: 'sent', outcome, messageId }
    return { state: isRetryable ? 'again' : 'failed', outcome, messageId }
  }

  /** Cancels those that the person no longer wants to know of, and mails the others. */
  async #mailTroubles(notices: Together): Promise<TryEnd> {
    const { accountId, personId } = notices[0]
    const [person] = await run<NoticeReceiver>(this.#parts.db, STILL_TOLD, [accountId, personId])
    const isWanted = ({ kind }: NoticeRow) => person !== undefined && (person.kinds?.includes(kind) ?? person.isOwner)
    const [told, left] = [notices.filter(isWanted), notices.filter((notice) => !isWanted(notice))]
    if (!person || !isTogether(told)) return { state: 'cancelled' }
    if (left.length > 0)
      for (const result of await endTry(this.#parts.db, left, { state: 'cancelled' })) this.#parts.report(result)
    return this.#mailOnce(told, { to: person.email, ...troubleMail(told, this.#parts.publicUrl()) })
  }

  async #postOnce(notices: Together): Promise<TryEnd> {
    const { accountId } = notices[0]
    if (accountId === null) return { state: 'cancelled' }
    const url = await this.#urls.open(accountId)
    if (url === undefined) return { state: 'cancelled' }
    const body = chatBody(troubleTexts(notices, this.#parts.publicUrl()))
    const result = await this.#parts.post(url, CHAT_HEADERS, body, { accountId })
    if (!result) return { state: 'again', repeatAfterMs: SLOT_MS, outcome: 'no free connection' }
    return { state: isTold(result) ? 'sent' : 'again', outcome: chatOutcome(result) }
  }

  async #resetOf({ id, email }: NoticeRow): Promise<NoticeMail | undefined> {
    const [person] = await run<{ email: string }>(this.#parts.db, BIND_RESET, [email, id])
    if (!person) return undefined
    const link = `${this.#parts.publicUrl()}/dashboard/reset/${this.#resetLinks.tokenOf(id)}`
    return { to: person.email, ...resetMail(link) }
  }

  async #invitationOf({ subjectId }: NoticeRow): Promise<NoticeMail | undefined> {
    const [invitation] = await run<{ id: string; email: string }>(this.#parts.db, WAITING_INVITATION, [subjectId])
    if (!invitation) return undefined
    const link = linkOf(this.#parts.publicUrl(), { token: this.#invitationLinks.tokenOf(invitation.id) })
    return { to: invitation.email, ...invitationMail(link) }
  }
}

const isTogether = (notices: readonly NoticeRow[]): notices is Together => notices.length > 0

/** The same notices after the same tries are the same mail, whichever process sends it. */
const keyOf = (notices: Together) =>
  createHash('sha256')
    .update(notices.map(({ id, tries }) => `${id} ${tries}`).join('\n'))
    .digest('hex')

interface NoticeReceiver {
  email: string
  /** null without a choice. */
  kinds: NoticeRow['kind'][] | null
  isOwner: boolean
}

/** The person may have left the account, or chosen otherwise, since the notice was found. */
const STILL_TOLD = `
  select p.email, c.kinds, m.role = 'owner' as "isOwner" from members m
  join people p on p.id = m.person_id
  left join notification_choices c on c.account_id = m.account_id and c.person_id = m.person_id
  where m.account_id = $1 and m.person_id = $2`

const WAITING_INVITATION = 'select id, email from invitations where id = $1 and ended_at is null and expires_at > now()'

/** More mails than this tell the person nothing, and fill the mailbox. */
const RESETS_PER_HOUR = 3

/**
 * Finds the person of a reset and stores who it is before the mail is sent, so that its link works from then on. Resets
 * that were requested earlier and wait count, too: those of one moment are sent side by side.
 */
const BIND_RESET = `
  update notices r set person_id = p.id
  from people p
  where r.id = $2 and r.used_at is null and p.email = $1
    and exists (
      select from credentials c where c.person_id = p.id and c.provider_id = 'credential' and c.password is not null)
    and ${RESETS_PER_HOUR} > (
      select count(*) from notices n
      where n.kind = 'password_reset' and n.created_at > now() - interval '1 hour'
        and (n.person_id = p.id and n.state = 'sent' or n.email = p.email and n.state = 'waiting' and n.id < $2))
  returning p.email`

export const CHAT_HEADERS = { 'Content-Type': 'application/json', 'User-Agent': USER_AGENT }

/** Some receivers of this form respond with another success than 200. */
export const isTold = ({ statusCode = 0 }: PostResult) => statusCode >= 200 && statusCode < 300

const chatOutcome = ({ statusCode, code, outcome }: PostResult) =>
  statusCode === undefined ? (code ?? outcome) : `HTTP ${statusCode}`

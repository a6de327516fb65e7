import { domainOf, lowerAscii } from '../../mail/address.ts'
import { bufferOf } from '../../net/bytes.ts'
import { type Complaint, readComplaint, readMicrosoftComplaint } from './arf.ts'
import { aside } from './aside.ts'
import type { FailedRecipient } from './diagnosis.ts'
import { readDeliveryStatus } from './dsn.ts'
import { isFromMailSystem, isNoFailure } from './marks.ts'
import { type Parts, readParts } from './mime-parts.ts'
import { noticeOf } from './notice.ts'
import { readPlainTextBounce } from './plain-text-bounce.ts'

export type Report =
  | { kind: 'bounce'; failures: FailedRecipient[] }
  | Complaint
  /** The notice of a mail system about a failure that it does not tell in a way we can read. */
  | { kind: 'unread' }
  /** It reports no failure and no complaint, or is no report at all. `why` is for people. */
  | { kind: 'none'; why: string }

export interface ReportEnvelope {
  /** The mail has the null sender, as notices of mail systems have. */
  hasNullSender: boolean
  /** The address that the mail was sent to: the envelope sender of the message that it reports about. */
  returnPath?: string
}

/** As `readReport`, without keeping the event loop for a large mail. */
export const readReportAside = aside(import.meta.url, readReport)

/** The report in a mail. */
export async function readReport(
  octets: Uint8Array,
  { hasNullSender, returnPath }: ReportEnvelope = { hasNullSender: true },
): Promise<Report> {
  const mail = bufferOf(octets)
  const parts = await readParts(mail)
  if (!parts) return none('it cannot be read as mail')
  const complaint = readComplaint(parts)
  if (complaint) return complaint
  if (isOtherReport(parts)) return none('it reports neither a failure nor a complaint')
  const ours = ourNamesIn(mail, returnPath)
  const failures = readDeliveryStatus(parts, ours)
  if (failures && !hasNullSender) return NOT_NULL
  if (failures) return failures.length > 0 ? { kind: 'bounce', failures } : none('its status part names no failure')
  const bounce = hasNullSender ? readPlainText(parts, ours) : NOT_NULL
  // A copy of the message in a bounce may have the field of a complaint, too.
  return bounce.kind === 'bounce' ? bounce : (readMicrosoftComplaint(parts) ?? bounce)
}

const NOT_NULL: Report = { kind: 'none', why: 'its envelope has a sender, and a bounce has none' }

function readPlainText(parts: Parts, ours: readonly string[]): Report {
  const notice = noticeOf(parts.text, parts.copy)
  if (isNoFailure(parts, notice)) return none('it is about a delivery that succeeded, or that is not over')
  const plainFailures = readPlainTextBounce(parts, notice, ours)
  if (!isFromMailSystem(parts) && !(plainFailures.some(isQuoted) && namesUs(parts, ours)))
    return none('no mail system wrote it, and it quotes no reply together with our return path')
  return plainFailures.length > 0 ? { kind: 'bounce', failures: plainFailures } : { kind: 'unread' }
}

const none = (why: string): Report => ({ kind: 'none', why })

const isQuoted = ({ code, addresses }: FailedRecipient) => code !== undefined && addresses.length > 0

/** Whether the content names the address that the mail was sent to, as a copy of our message does. */
function namesUs({ statements }: Parts, [returnPath]: readonly string[]): boolean {
  return returnPath !== undefined && statements.some((text) => lowerAscii(text).includes(lowerAscii(returnPath)))
}

/** Feedback about something else than a complaint, and confirmations of reading. */
function isOtherReport({ header, part }: Parts): boolean {
  const type = header('content-type')
  if (/report-type\s?=\s?"?(?:disposition-notification|feedback-report)/i.test(type)) return true
  return part('message/feedback-report', 'message/disposition-notification') !== undefined
}

const RETURN_PATH = /\bb[.+][0-9a-z.]{20,60}@[a-z0-9.-]{1,253}/i
const SEARCHED_BYTES = 64 * 1024

/**
 * The envelope sender that the report was sent to or quotes, its domain, and the sending domain of `rp.<domain>`: the
 * names that a reply has for us.
 */
function ourNamesIn(mail: Buffer, returnPath: string | undefined): string[] {
  const address = returnPath ?? RETURN_PATH.exec(mail.toString('latin1', 0, SEARCHED_BYTES))?.[0]
  if (address === undefined) return []
  const domain = domainOf(address)
  const [, sendingDomain] = /^rp\.(.+\..+)/i.exec(domain) ?? []
  return [address, domain, ...(sendingDomain === undefined ? [] : [sendingDomain])]
}

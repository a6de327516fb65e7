import { domainOf, lowerAscii } from '../../mail/address.ts'
import { isAtLeast } from '../../mail/smtp/attempt.ts'
import { saysWhereHelpIs } from '../../mail/smtp/clauses.ts'
import { type Diagnosis, diagnose, type FailedRecipient, type RecipientReport } from './diagnosis.ts'
import type { Parts } from './mime-parts.ts'
import { noticeOf, passagesOf } from './notice.ts'
import { isBeforeRecipient, mayBeExample, namesNoServer, quotesReply } from './quoted-reply.ts'
import { bareValue, type Field, fieldLines, fieldValue, readFields, typeOf, withoutType } from './report-fields.ts'

const DELIVERY_STATUS = ['message/delivery-status', 'message/global-delivery-status']
const MAX_RECIPIENTS = 100
const STATUS = /\b[245]\.\d{1,3}\.\d{1,3}\b/

/**
 * The recipients that were not reached, from a delivery status notification (RFC 3464, RFC 6533). Recipients that were
 * delayed, reached or relayed to are no failures. Returns undefined when no part has the fields of a recipient.
 */
export function readDeliveryStatus(parts: Parts, ours: readonly string[] = []): FailedRecipient[] | undefined {
  const groups = statusGroups(parts)
  if (groups.length === 0) return undefined
  // OpenSMTPD writes `error`.
  const failed = groups.filter((fields) => /^(?:fail|error)/i.test(fieldValue(fields, 'action')))
  const notice = noticeOf(parts.text, parts.copy)
  const passages = passagesOf(notice, ours)
  const isSenders = isBeforeRecipient(notice)
  const reached = groups
    .filter((fields) => !failed.includes(fields))
    .flatMap((fields) => addressesOf(fields).map(lowerAscii))
  const reported = groups.flatMap((fields) => addressesOf(fields).map(lowerAscii))
  // Where the text names one that no field names, the reply may be about that one. Help has an address, too.
  const isOfMember =
    passages.some(({ address, lines: [line = ''] }) => !reported.includes(address) && !saysWhereHelpIs(line)) ||
    notice.some(namesNoServer)
  return failed.map((fields): FailedRecipient => {
    const addresses = addressesOf(fields)
    const names = addresses.map(lowerAscii)
    const isNamed = (address = '') => names.includes(address)
    const own = passages.filter((passage) => [passage.address, passage.from, ...passage.beside].some(isNamed))
    const about = own.flatMap(({ lines }) => lines)
    // What the text says of another recipient is nothing about this one.
    const general = passages.length === 0 && failed.length === 1 ? notice : []
    const [recipient] = addresses
    const [status = ''] = STATUS.exec(fieldValue(fields, 'status')) ?? []
    const mx = bareValue(fieldValue(fields, 'remote-mta'))
    const member = own.find(({ address, from }) => isNamed(from) && !isNamed(address))?.address
    const told = { recipient, status, mx, ours }
    const report = {
      ...told,
      isSenders: isBeforeRecipient(about) ?? isSenders,
      isDoubtful:
        (member === undefined && isOfMember) ||
        isDoubtful(fields, told) ||
        own.some(({ beside }) => beside.length > 0) ||
        reached.some(isNamed),
    }
    const diagnosis = diagnoseBoth(report, diagnosticOf(fields), { about, general })
    const failedAddress = nameIn(fields, 'x-actual-recipient') ?? member ?? nameIn(fields, 'final-recipient')
    return { ...diagnosis, addresses, failedAddress }
  })
}

const addressesOf = (fields: Field[]) =>
  ['original-recipient', 'final-recipient']
    .map((name) => bareValue(fieldValue(fields, name)))
    .filter((address) => address !== '')

/** The mailbox that failed, in whatever form: a program, or a user of another system, is not the recipient. */
const nameIn = (fields: Field[], name: string) => bareValue(fieldValue(fields, name)) || undefined

/** The status codes (RFC 3463) that may be about a mailbox, or about nothing. */
const MAILBOX_STATUS = /^$|^[45]\.(?:0\.\d+|[235]\.0|1\.(?:[013456]|10|11)|2\.1)$/
/** The types of a diagnostic that a server gave, and no program of the reporter. Some reporters write none. */
const SMTP = /^(?:|smtp|lmtp)$/i

type Reported = Omit<RecipientReport, 'lines'>

/** Whether a field says that the failure is not about the mailbox, or that no server of the recipient reported it. */
function isDoubtful(fields: Field[], { recipient = '', status = '', mx = '', ours }: Reported): boolean {
  const domains = ours.map((name) => name.toLowerCase()).filter((name) => name !== domainOf(lowerAscii(recipient)))
  const isOurs = domains.some((domain) => `.${mx.toLowerCase()}`.endsWith(`.${domain}`))
  return isOurs || !MAILBOX_STATUS.test(status) || !SMTP.test(typeOf(fieldValue(fields, 'diagnostic-code')))
}

/** What the fields say; where that is little, the text for people may quote the reply. */
function diagnoseBoth(
  report: Reported,
  lines: string[],
  { about, general }: { about: string[]; general: string[] },
): Diagnosis {
  const diagnosis = diagnose({ ...report, lines })
  const isDecided = isSpecific(diagnosis.readAs)
  const text = about.length > 0 ? about : general
  const isQuoted = text.some(quotesReply)
  if (isDecided && (hasWords(lines) || (about.length === 0 && !isQuoted))) return diagnosis
  const fromText = diagnose({
    ...report,
    // Where the fields quote a reply, the status is that of the reply.
    status: diagnosis.code === undefined ? report.status : '',
    // Codes without words have those of the text.
    lines: isDecided && !isQuoted ? [[...lines, ...text].join(' ')] : text,
    isDoubtful: report.isDoubtful || mayBeExample(text),
  })
  if (isDecided) return isAtLeast(fromText.kind, diagnosis.kind) ? diagnosis : fromText
  const isBetter = fromText.reason !== undefined && (diagnosis.reason === undefined || isSpecific(fromText.readAs))
  return isBetter ? fromText : diagnosis
}

const hasWords = (lines: readonly string[]) => /\p{L}{2}/u.test(lines.join(' ').replace(/\S{1,64}@\S{1,253}/g, ''))

/** `<mx.example.com #5.7.1 smtp; 550 5.7.1 ...>` */
const SUPPLEMENT = /^<.{0,253}?#[245]\.\d{1,3}\.\d{1,3} smtp;\s?(.{1,1000}?)>?$/i

const isSpecific = (readAs: string | undefined) => readAs !== undefined && readAs !== 'sender (not understood)'

/** The groups of fields that are about a recipient, in the status part or in another part that has them. */
function statusGroups(parts: Parts): Field[][] {
  const status = parts.part(...DELIVERY_STATUS)
  const contents = status === undefined ? parts.statements : [status]
  for (const content of contents) {
    const groups = readFields(content)
      .slice(0, MAX_RECIPIENTS)
      .filter((fields) => fieldValue(fields, 'action') !== '' && hasRecipient(fields))
    if (groups.length > 0) return groups
  }
  return []
}

const hasRecipient = (fields: Field[]) =>
  fields.some(({ name }) => ['final-recipient', 'original-recipient', 'status'].includes(name))

/**
 * The diagnostic without its type: `550 5.1.1 ...` of `smtp; 550 5.1.1 ...`. Without one, what Exchange adds of the
 * remote server, or the comment that some systems write after the status.
 */
function diagnosticOf(fields: Field[]): string[] {
  const [first = '', ...more] = fieldLines(fields, 'diagnostic-code')
  const lines = [withoutType(first), ...more].filter((line) => line !== '')
  const [, remote] = SUPPLEMENT.exec(fieldValue(fields, 'x-supplementary-info')) ?? []
  const [, comment = ''] = /^[\d.]{1,11}\s{1,8}\((.{1,400})\)$/.exec(fieldValue(fields, 'status')) ?? []
  return lines.length > 0 ? lines : [remote ?? comment]
}

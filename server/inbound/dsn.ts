import { lowerAscii } from '../../mail/address.ts'
import { diagnose, type FailedRecipient } from './diagnosis.ts'
import type { Parts } from './mime-parts.ts'
import { noticeOf, passagesOf } from './notice.ts'
import { bareValue, type Field, fieldLines, fieldValue, readFields, withoutType } from './report-fields.ts'

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
  const notice = noticeOf(parts.text)
  return failed.map((fields): FailedRecipient => {
    const [status = ''] = STATUS.exec(fieldValue(fields, 'status')) ?? []
    const addresses = ['original-recipient', 'final-recipient']
      .map((name) => bareValue(fieldValue(fields, name)))
      .filter((address) => address !== '')
    const [recipient] = addresses
    const failedAddress = failedAddressOf(fields)
    const mx = bareValue(fieldValue(fields, 'remote-mta'))
    const report = { recipient, status, mx, ours }
    const diagnosis = diagnose({ ...report, lines: diagnosticOf(fields) })
    if (isSpecific(diagnosis.readAs)) return { ...diagnosis, addresses, failedAddress }
    // The fields say little: the text for people may quote the reply.
    const passages = passagesOf(notice, (address) => ours.includes(address))
    const own = passages.filter(({ address }) => addresses.some((each) => lowerAscii(each) === address))
    const lines = own.length > 0 || failed.length > 1 ? own.flatMap((passage) => passage.lines) : notice
    // Where the fields quote a reply, the status is that of the reply.
    const fromText = diagnose({ ...report, status: diagnosis.code === undefined ? status : '', lines })
    const isBetter = fromText.reason !== undefined && (diagnosis.reason === undefined || isSpecific(fromText.readAs))
    return { ...(isBetter ? fromText : diagnosis), addresses, failedAddress }
  })
}

/** A mail server that forwards names its own recipient. Other types than these are no addresses of mail. */
function failedAddressOf(fields: Field[]): string | undefined {
  const named = ['x-actual-recipient', 'final-recipient'].map((name) => fieldValue(fields, name))
  const address = named.find((value) => /^(?:(?:rfc822|utf-8)\s{0,8};|[^;]*@)/i.test(value))
  return address === undefined ? undefined : bareValue(address)
}

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

import type { Parts } from './mime-parts.ts'
import { bareValue, fieldValue, fieldValues, readFields } from './report-fields.ts'

/** The feedback types by which a recipient says that a message is unwanted (RFC 5965 7.3, and earlier ones). */
const COMPLAINTS = ['abuse', 'fraud', 'opt-out', 'opt-out-list']
const ORIGINAL = ['message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers']
/** Microsoft's programme sends the message alone, with the recipient in this field. */
const MICROSOFT_RECIPIENT = 'x-hmxmroriginalrecipient'
const MAX_ADDRESSES = 20

export interface Complaint {
  kind: 'complaint'
  /** That of the report, such as `abuse`. */
  type: string
  /** Those who may have complained, the most reliable first. */
  addresses: string[]
}

/** The complaint in a feedback report (ARF, RFC 5965); undefined for any other mail. */
export function readComplaint(parts: Parts): Complaint | undefined {
  const report = parts.part('message/feedback-report')
  if (report === undefined) return undefined
  const fields = readFields(report).flat()
  const type = fieldValue(fields, 'feedback-type').toLowerCase()
  if (!COMPLAINTS.includes(type)) return undefined
  // The message's own To field does not help: it names all recipients.
  const addresses = [
    ...fieldValues(fields, 'original-rcpt-to'),
    ...fieldValues(fields, 'removal-recipient'),
    ...microsoftRecipients(parts),
  ]
  return { kind: 'complaint', type, addresses: addresses.slice(0, MAX_ADDRESSES).map(bareValue) }
}

/** The complaint of Microsoft's programme in a mail that is no other report. */
export function readMicrosoftComplaint(parts: Parts): Complaint | undefined {
  const addresses = microsoftRecipients(parts).map(bareValue)
  return addresses.length > 0 ? { kind: 'complaint', type: 'abuse', addresses } : undefined
}

function microsoftRecipients(parts: Parts): string[] {
  const [original = []] = readFields(parts.part(...ORIGINAL) ?? '')
  return fieldValues(original, MICROSOFT_RECIPIENT)
}

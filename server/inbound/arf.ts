import type { Parts } from './mime-parts.ts'
import { bareValue, fieldValue, fieldValues, readFields } from './report-fields.ts'

/** Feedback types for an unwanted message (RFC 5965 7.3, and earlier ones); `not-spam` is the opposite. */
const COMPLAINTS = ['abuse', 'fraud', 'virus', 'opt-out', 'opt-out-list']
const ORIGINAL = ['message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers']
/** Microsoft's programme sends the message alone, with the recipient in this field. */
const MICROSOFT_RECIPIENT = 'x-hmxmroriginalrecipient'
const MAX_ADDRESSES = 20

/** The type of a complaint and who complained, from a feedback report (ARF, RFC 5965); undefined for any other mail. */
export function readComplaint(parts: Parts): { type: string; addresses: string[] } | undefined {
  const report = parts.part('message/feedback-report')
  const [original = []] = readFields(parts.part(...ORIGINAL) ?? '')
  // The message's own To field does not help: it names all recipients.
  const microsoftRecipients = fieldValues(original, MICROSOFT_RECIPIENT)
  if (report === undefined)
    return microsoftRecipients.length > 0 ? { type: 'abuse', addresses: microsoftRecipients.map(bareValue) } : undefined
  const fields = readFields(report).flat()
  const type = fieldValue(fields, 'feedback-type').toLowerCase()
  if (!COMPLAINTS.includes(type)) return undefined
  const addresses = [
    ...fieldValues(fields, 'original-rcpt-to'),
    ...fieldValues(fields, 'removal-recipient'),
    ...microsoftRecipients,
  ]
  return { type, addresses: addresses.slice(0, MAX_ADDRESSES).map(bareValue) }
}

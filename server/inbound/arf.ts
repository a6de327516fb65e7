import { bare, fieldValue, fieldValues, readFields } from './fields.ts'
import type { Parts } from './parts.ts'

/** Feedback types that say a person does not want the message (RFC 5965 7.3, and what came before it); `not-spam` is the opposite. */
const COMPLAINTS = ['abuse', 'fraud', 'virus', 'opt-out', 'opt-out-list']
const ORIGINAL = ['message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers']
/** Microsoft's programme sends the message alone, with the recipient in a field of its own. */
const MICROSOFT_RECIPIENT = 'x-hmxmroriginalrecipient'
const MAX_ADDRESSES = 20

/** Who complained, as a feedback report (ARF, RFC 5965) says; undefined when the mail is none, or no complaint. */
export function readComplaint(parts: Parts): { type: string; addresses: string[] } | undefined {
  const report = parts.part('message/feedback-report')
  const [original = []] = readFields(parts.part(...ORIGINAL) ?? '')
  // The message's own To would say nothing: it names all recipients.
  const told = fieldValues(original, MICROSOFT_RECIPIENT)
  if (report === undefined) return told.length > 0 ? { type: 'abuse', addresses: told.map(bare) } : undefined
  const fields = readFields(report).flat()
  const type = fieldValue(fields, 'feedback-type').toLowerCase()
  if (!COMPLAINTS.includes(type)) return undefined
  const named = [...fieldValues(fields, 'original-rcpt-to'), ...fieldValues(fields, 'removal-recipient'), ...told]
  return { type, addresses: named.slice(0, MAX_ADDRESSES).map(bare) }
}

import type { Phase } from '../../mail/smtp/attempt.ts'
import { diagnose, type FailedRecipient } from './diagnosis.ts'
import { bareValue, type Field, fieldLines, fieldValue, readFields, withoutType } from './fields.ts'
import type { Parts } from './parts.ts'

const DELIVERY_STATUS = ['message/delivery-status', 'message/global-delivery-status']
const MAX_RECIPIENTS = 100
const STATUS = /\b[245]\.\d{1,3}\.\d{1,3}\b/

/**
 * The recipients that were not reached, from a delivery status notification (RFC 3464, RFC 6533). Recipients that were
 * delayed, reached or relayed to are no failures. Returns undefined when the mail is no such notification.
 */
export function readDeliveryStatus(parts: Parts): FailedRecipient[] | undefined {
  const status = parts.part(...DELIVERY_STATUS)
  if (status === undefined) return undefined
  const groups = readFields(status).slice(0, MAX_RECIPIENTS)
  const phase = phaseIn(parts.text)
  return groups.flatMap((fields) => {
    if (!/^failed\b/i.test(fieldValue(fields, 'action'))) return []
    const [code = ''] = STATUS.exec(fieldValue(fields, 'status')) ?? []
    const diagnosis = diagnose({
      status: code,
      lines: diagnosticOf(fields),
      mx: bareValue(fieldValue(fields, 'remote-mta')),
      phase,
    })
    const addresses = ['original-recipient', 'final-recipient'].map((name) => bareValue(fieldValue(fields, name)))
    return [{ ...diagnosis, addresses: addresses.filter((address) => address !== '') }]
  })
}

/**
 * Only the text for people tells which command the server refused. Without a hint it is RCPT, which is refused more
 * often.
 */
export function phaseIn(text: string): Phase {
  return /\b(?:in reply to|after) (?:the )?(?:end of )?DATA\b|after I sent the message/i.test(text) ? 'dot' : 'rcpt'
}

/** The diagnostic without its type: `550 5.1.1 ...` of `smtp; 550 5.1.1 ...`. */
function diagnosticOf(fields: Field[]): string[] {
  const [first = '', ...more] = fieldLines(fields, 'diagnostic-code')
  return [withoutType(first), ...more].filter((line) => line !== '')
}

import type { Phase } from '../smtp/attempt.ts'
import { diagnose, type Failure } from './diagnosis.ts'
import { bare, type Field, fieldLines, fieldValue, readFields, withoutType } from './fields.ts'
import type { Parts } from './parts.ts'

const DELIVERY_STATUS = ['message/delivery-status', 'message/global-delivery-status']
const MAX_RECIPIENTS = 100
const STATUS = /\b[245]\.\d{1,3}\.\d{1,3}\b/

/**
 * The recipients that a delivery status notification (RFC 3464, RFC 6533) says were not reached: delays, and what was delivered or
 * passed on, are no failures. undefined when the mail is no such notification.
 */
export function readDeliveryStatus(parts: Parts): Failure[] | undefined {
  const status = parts.part(...DELIVERY_STATUS)
  if (status === undefined) return undefined
  const groups = readFields(status).slice(0, MAX_RECIPIENTS)
  const phase = phaseIn(parts.text)
  return groups.flatMap((fields) => {
    if (!/^failed\b/i.test(fieldValue(fields, 'action'))) return []
    const [code = ''] = STATUS.exec(fieldValue(fields, 'status')) ?? []
    const verdict = diagnose({
      status: code,
      lines: diagnosticOf(fields),
      mx: bare(fieldValue(fields, 'remote-mta')),
      phase,
    })
    const addresses = ['original-recipient', 'final-recipient'].map((name) => bare(fieldValue(fields, name)))
    return [{ ...verdict, addresses: addresses.filter((address) => address !== '') }]
  })
}

/** Nothing but the words for people says what the server answered to; a recipient is refused more often than a content. */
export function phaseIn(text: string): Phase {
  return /\b(?:in reply to|after) (?:the )?(?:end of )?DATA\b|after I sent the message/i.test(text) ? 'dot' : 'rcpt'
}

/** Of `smtp; 550 5.1.1 ...` what follows the type. */
function diagnosticOf(fields: Field[]): string[] {
  const [first = '', ...more] = fieldLines(fields, 'diagnostic-code')
  return [withoutType(first), ...more].filter((line) => line !== '')
}

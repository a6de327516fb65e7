import { timestampDate } from '@bufbuild/protobuf/wkt'
import { DeliveryStatus, Reason, type RecipientOutcome, SuppressionScope } from '../../gen/verdict/v1/outcomes_pb.ts'
import { domainOf, isSpecialUse } from '../../mail/address.ts'
import { isSimulated } from '../reputation/simulated.ts'

/**
 * Adds `detail` to a rejection: why the recipient was rejected, and what to do. The text comes from stored data alone,
 * so a repeat and Get email show the same. `fromDomain` is the domain of From. Other outcomes stay as they are: their
 * evidence says why.
 */
export function explain(outcome: RecipientOutcome, fromDomain: string): RecipientOutcome {
  if (outcome.status === DeliveryStatus.REJECTED) outcome.detail = DETAILS[outcome.reason!]?.(outcome, fromDomain)
  return outcome
}

const DETAILS: { [reason in Reason]?: (outcome: RecipientOutcome, fromDomain: string) => string } = {
  // Messages that were stored by an older version have no domain.
  [Reason.DOMAIN_NOT_VERIFIED]: (_outcome, fromDomain) =>
    `${fromDomain || 'The From domain'} is not a verified domain of this account. POST /api/v1/domains adds a domain; GET /api/v1/domains lists yours and what their DNS lacks.`,

  [Reason.INVALID_ADDRESS]({ email, smtp }) {
    const domain = domainOf(email)
    if (smtp?.detail) return `${domain} can never be mailed: ${smtp.detail}.`
    if (isSimulated(email) || !isSpecialUse(domain)) return `${email} is never mailed.`
    return `${domain} is under a special-use top-level domain, where no mail server can exist.`
  },

  [Reason.SUPPRESSION_LIST]({ email, suppression }) {
    if (!suppression?.since) return `${email} is suppressed.`
    const since = timestampDate(suppression.since).toISOString()
    const isGlobal = suppression.scope === SuppressionScope.GLOBAL
    const wayOut = isGlobal ? 'Only the operator can remove it.' : 'DELETE /api/v1/suppression/{email} removes it.'
    return `${email} has been on ${LISTS[suppression.scope]} since ${since}. ${wayOut}`
  },
}

const LISTS: Record<SuppressionScope, string> = {
  [SuppressionScope.UNSPECIFIED]: 'a suppression list',
  [SuppressionScope.GLOBAL]: 'the suppression list for everyone who sends through this service',
  [SuppressionScope.ACCOUNT]: 'the suppression list of this account',
  [SuppressionScope.TENANT]: 'the suppression list of this tenant',
}

import { ReasonSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import { shortNames } from '../enum-names.ts'

/** Why an email was refused before anything was sent. Every other reason is a bounce. */
const REJECTIONS = ['suppression_list', 'invalid_address', 'domain_not_verified']

export const REASONS: readonly string[] = shortNames(ReasonSchema)

// Sums of columns of `hourly_stats`, as SQL. A bounce had reached DNS or SMTP, so sent = delivered + bounced.

export const REJECTED = REJECTIONS.join(' + ')
export const BOUNCED = REASONS.filter((reason) => !REJECTIONS.includes(reason)).join(' + ')
/** In place of a tenant, the sums of those that have no row of their own: see merge-statistics.ts. No tenant's name holds a control character. */
export const OTHER_TENANTS = '\t'

export const SENT = `delivered + ${BOUNCED}`
/** Mailboxes that do not exist, whether their server said so at once or later. */
export const HARD_BOUNCES = 'mailbox_does_not_exist + late_bounces'

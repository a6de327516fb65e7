import { GroupBy } from '../../gen/verdict/v1/stats_pb.ts'
import type { Filter } from '../lists/filter.ts'
import {
  DRY_RUN_FILTER,
  FEEDBACK_FILTER,
  feedbackOfName,
  METADATA_FILTER,
  REASON_FILTER,
  RECIPIENT_DOMAIN_FILTER,
  RECIPIENT_FILTER,
  STATUS_FILTER,
  SUBJECT_FILTER,
  sandboxOfName,
  statusOfName,
  TAG_FILTER,
  TENANT_FILTER,
} from '../lists/outcome-filters.ts'
import { requestTime } from '../lists/read-filters.ts'
import { providerName } from '../numbers/groups.ts'
import { RANGE_PARAMETERS, type RangeSearch } from '../range/presets.ts'
import { reasonOfCode } from '../status/reasons.ts'

/** `in_doubt` is no status of the API, where such an email is bounced. A person takes it for one. */
const IN_DOUBT = 'in_doubt'
const MESSAGE_STATUS: Filter = { ...STATUS_FILTER, choices: [...STATUS_FILTER.choices!, [IN_DOUBT, 'In doubt']] }

/** The address of the emails in doubt. */
export const DOUBTFUL: MessageSearch = { status: IN_DOUBT }

/** The filters of the list as the address of the page has them. */
export interface MessageSearch extends RangeSearch {
  recipient?: string
  recipient_domain?: string
  status?: string
  reason?: string
  /** What was reported after the outcome. */
  feedback?: string
  /** A mailbox provider, as statistics name it. */
  bounced_by?: string
  subject?: string
  /** A pair, as `key=value`. */
  metadata?: string
  /** The address of From. */
  sender?: string
  domain?: string
  tag?: string
  tenant?: string
  sandbox?: string
  /** The further columns, as `from,tag`. */
  columns?: string
}

export const MESSAGE_FILTERS: Filter[] = [
  RECIPIENT_FILTER,
  MESSAGE_STATUS,
  REASON_FILTER,
  FEEDBACK_FILTER,
  {
    name: 'bounced_by',
    label: 'Bounced by',
    placeholder: 'microsoft, or the domain or IP address of a mail server',
    known: GroupBy.PROVIDER,
    nameOf: providerName,
  },
  RECIPIENT_DOMAIN_FILTER,
  SUBJECT_FILTER,
  METADATA_FILTER,
  { name: 'sender', label: 'From', placeholder: 'shop@example.com' },
  { name: 'domain', label: 'From domain', placeholder: 'example.com', known: GroupBy.DOMAIN },
  TAG_FILTER,
  TENANT_FILTER,
  DRY_RUN_FILTER,
]

/** The parameters of the page's address. */
export const MESSAGE_PARAMETERS: Filter[] = [
  ...MESSAGE_FILTERS,
  ...RANGE_PARAMETERS,
  { name: 'columns', label: 'Columns', pattern: '[a-z]+(,[a-z]+)*' },
]

/** The request for the emails that match. */
export function messagesRequest(search: MessageSearch) {
  const { recipient, subject, metadata, sender, domain, tag, tenant, status, reason, sandbox, from, to } = search
  return {
    recipient,
    recipientDomain: search.recipient_domain,
    bouncedBy: search.bounced_by,
    subject,
    metadata: metadata === undefined ? undefined : pairOf(metadata),
    sender,
    domain,
    tag,
    tenantId: tenant,
    status: statusOfName(status),
    inDoubt: status === IN_DOUBT ? true : undefined,
    reason: reasonOfCode(reason),
    feedback: feedbackOfName(search.feedback),
    sandbox: sandboxOfName(sandbox),
    from: requestTime(from),
    to: requestTime(to),
  }
}

function pairOf(text: string): Record<string, string> {
  const equals = text.indexOf('=')
  return { [text.slice(0, equals)]: text.slice(equals + 1) }
}

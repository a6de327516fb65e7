import type { Filter } from '../lists/filter.ts'
import {
  DRY_RUN_FILTER,
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
import { timestampOf } from '../lists/read-filters.ts'
import { reasonOfCode } from '../status/reasons.ts'

/** `in_doubt` is no status of the API, where such an email is bounced. A person takes it for one. */
const IN_DOUBT = 'in_doubt'
const MESSAGE_STATUS: Filter = { ...STATUS_FILTER, choices: [...STATUS_FILTER.choices!, [IN_DOUBT, 'In doubt']] }

/** The address of the emails in doubt. */
export const DOUBTFUL: MessageSearch = { status: IN_DOUBT }

/** The filters of the list as the address of the page has them. */
export interface MessageSearch {
  recipient?: string
  recipient_domain?: string
  status?: string
  reason?: string
  subject?: string
  /** A pair, as `key=value`. */
  metadata?: string
  domain?: string
  tag?: string
  tenant?: string
  from?: string
  to?: string
  sandbox?: string
}

export const MESSAGE_FILTERS: Filter[] = [
  RECIPIENT_FILTER,
  MESSAGE_STATUS,
  REASON_FILTER,
  RECIPIENT_DOMAIN_FILTER,
  SUBJECT_FILTER,
  METADATA_FILTER,
  { name: 'domain', label: 'From domain', placeholder: 'example.com' },
  TAG_FILTER,
  TENANT_FILTER,
  { name: 'from', label: 'Sent after', kind: 'time' },
  { name: 'to', label: 'Sent before', kind: 'time' },
  DRY_RUN_FILTER,
]

/** The request for the emails that match. */
export function requestOf(search: MessageSearch) {
  const { recipient, subject, metadata, domain, tag, tenant, status, reason, sandbox, from, to } = search
  return {
    recipient,
    recipientDomain: search.recipient_domain,
    subject,
    metadata: metadata === undefined ? undefined : pairOf(metadata),
    domain,
    tag,
    tenantId: tenant,
    status: statusOfName(status),
    inDoubt: status === IN_DOUBT ? true : undefined,
    reason: reasonOfCode(reason),
    sandbox: sandboxOfName(sandbox),
    from: timestampOf(from),
    to: timestampOf(to),
  }
}

function pairOf(text: string): Record<string, string> {
  const equals = text.indexOf('=')
  return { [text.slice(0, equals)]: text.slice(equals + 1) }
}

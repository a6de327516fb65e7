import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Filter } from '../lists/filter.ts'
import { REASON_WORDS, REASONS, reasonCode, reasonOfCode } from '../status/reasons.ts'

/** The filters of the list as the address of the page has them. */
export interface MessageSearch {
  recipient?: string
  status?: string
  reason?: string
  domain?: string
  tag?: string
  tenant?: string
  from?: string
  to?: string
  sandbox?: string
}

const STATUSES: Record<string, DeliveryStatus> = {
  delivered: DeliveryStatus.DELIVERED,
  bounced: DeliveryStatus.BOUNCED,
  rejected: DeliveryStatus.REJECTED,
}

export const MESSAGE_FILTERS: (Filter & { name: keyof MessageSearch })[] = [
  { name: 'recipient', label: 'Recipient', placeholder: 'ann@example.com' },
  {
    name: 'status',
    label: 'Status',
    choices: [
      ['delivered', 'Delivered'],
      ['bounced', 'Bounced'],
      ['rejected', 'Rejected'],
    ],
  },
  {
    name: 'reason',
    label: 'Reason',
    choices: REASONS.map((reason) => [reasonCode(reason)!, REASON_WORDS[reason]!]),
  },
  { name: 'domain', label: 'From domain', placeholder: 'example.com' },
  { name: 'tag', label: 'Tag', placeholder: 'password-reset' },
  { name: 'tenant', label: 'Tenant', placeholder: 'shop-7' },
  { name: 'from', label: 'Sent after', kind: 'time' },
  { name: 'to', label: 'Sent before', kind: 'time' },
  {
    name: 'sandbox',
    label: 'Dry runs',
    choices: [
      ['false', 'Real sends only'],
      ['true', 'Dry runs only'],
    ],
  },
]

/** Reads the address of the page. What is no value of a filter is left out, so that no chip names a filter in vain. */
export function readMessageSearch(search: Record<string, unknown>): MessageSearch {
  const read: MessageSearch = {}
  for (const { name, choices, kind } of MESSAGE_FILTERS) {
    const value = search[name]
    if (typeof value !== 'string' || value === '') continue
    if (choices && !choices.some(([choice]) => choice === value)) continue
    if (kind === 'time' && timeOf(value) === undefined) continue
    read[name] = value
  }
  return read
}

/** The request for the emails that match. */
export function requestOf(search: MessageSearch) {
  const { recipient, domain, tag, tenant, status, reason, sandbox, from, to } = search
  return {
    recipient,
    domain,
    tag,
    tenantId: tenant,
    status: status === undefined ? undefined : STATUSES[status],
    reason: reasonOfCode(reason),
    sandbox: sandbox === undefined ? undefined : sandbox === 'true',
    from: stampOf(from),
    to: stampOf(to),
  }
}

function stampOf(text: string | undefined) {
  const ms = text === undefined ? undefined : timeOf(text)
  return ms === undefined ? undefined : timestampFromDate(new Date(ms))
}

/** An ISO 8601 time in Unix milliseconds; a date is 00:00 UTC of its day. */
function timeOf(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

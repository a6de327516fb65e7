import { SuppressionReason, SuppressionScope } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Filter } from '../lists/filter.ts'
import { requestTime } from '../lists/read-filters.ts'
import { RANGE_PARAMETERS, type RangeSearch } from '../range/presets.ts'
import { EVIDENCE_KIND_WORDS, kindOfName } from './evidence-words.ts'

/** The words for what created an entry, by the value in the address of the page. */
const ENTRY_REASONS = [
  [SuppressionReason.BOUNCE, 'bounce', 'Bounce'],
  [SuppressionReason.COMPLAINT, 'complaint', 'Complaint'],
  [SuppressionReason.IMPORT, 'import', 'Import'],
  [SuppressionReason.MANUAL, 'manual', 'By hand'],
] as const

export const entryReasonWord = (reason: SuppressionReason) =>
  ENTRY_REASONS.find(([value]) => value === reason)?.[2] ?? 'Unknown'

const reasonOfName = (name: string | undefined) => ENTRY_REASONS.find(([, known]) => known === name)?.[0]

/** Which sends an entry applies to. */
export function scopeWords(scope: SuppressionScope, tenantId: string | undefined): string {
  if (scope === SuppressionScope.GLOBAL) return 'Every account'
  return scope === SuppressionScope.TENANT ? `Tenant ${tenantId}` : 'All sends'
}

export const SUPPRESSION_FILTERS: Filter[] = [
  { name: 'email', label: 'Address', placeholder: 'ann@example.com' },
  { name: 'reason', label: 'Reason', choices: ENTRY_REASONS.map(([, name, word]) => [name, word]) },
  { name: 'kind', label: 'Evidence', choices: EVIDENCE_KIND_WORDS.map(([, name, word]) => [name, word]) },
  { name: 'domain', label: 'Domain', placeholder: 'example.com' },
  { name: 'tenant', label: 'Tenant' },
]

/** The parameters of the page's address. */
export const SUPPRESSION_PARAMETERS: Filter[] = [...SUPPRESSION_FILTERS, ...RANGE_PARAMETERS]

/** The filters as the address of the page has them. */
export interface SuppressionSearch extends RangeSearch {
  email?: string
  reason?: string
  kind?: string
  domain?: string
  tenant?: string
}

/** The request for the entries that match. */
export function suppressionsRequest({ email, reason, ...search }: SuppressionSearch) {
  return { email, reason: reasonOfName(reason), ...liftRequestOf(search) }
}

/** The filters that the lifting of entries takes, too. */
export function liftRequestOf({ kind, domain, tenant, from, to }: SuppressionSearch) {
  return {
    kind: kindOfName(kind),
    domain,
    tenantId: tenant,
    createdFrom: requestTime(from),
    createdTo: requestTime(to),
  }
}

/** A server's reply without the address that it repeats, which is beside it in the list. */
export function withoutAddress(reply: string, email: string): string {
  const at = reply.toLowerCase().indexOf(`<${email.toLowerCase()}>`)
  if (at < 0) return reply
  return reply.slice(0, at) + reply.slice(at + email.length + 2).replace(/^:?\s*/, '')
}

export type LiftRequest = ReturnType<typeof liftRequestOf>

import { SuppressionReason, SuppressionScope } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Filter } from '../lists/filter.ts'

/** The words for what created an entry, by the value in the address of the page. */
export const REASONS = [
  [SuppressionReason.BOUNCE, 'bounce', 'Bounce'],
  [SuppressionReason.COMPLAINT, 'complaint', 'Complaint'],
  [SuppressionReason.IMPORT, 'import', 'Import'],
  [SuppressionReason.MANUAL, 'manual', 'By hand'],
] as const

export const reasonWord = (reason: SuppressionReason) => REASONS.find(([value]) => value === reason)?.[2] ?? 'Unknown'

export const reasonOfName = (name: string | undefined) => REASONS.find(([, known]) => known === name)?.[0]

/** Which sends an entry applies to. */
export function scopeWords(scope: SuppressionScope, tenantId: string | undefined): string {
  if (scope === SuppressionScope.GLOBAL) return 'Every account'
  return scope === SuppressionScope.TENANT ? `Tenant ${tenantId}` : 'All sends'
}

export const SUPPRESSION_FILTERS: Filter[] = [
  { name: 'email', label: 'Address', placeholder: 'ann@example.com' },
  { name: 'reason', label: 'Reason', choices: REASONS.map(([, name, word]) => [name, word]) },
  { name: 'tenant', label: 'Tenant' },
]

/** The filters of the page's address. */
export interface SuppressionSearch {
  email?: string
  reason?: string
  tenant?: string
}

/** A server's reply without the address that it repeats, which is beside it in the list. */
export function withoutAddress(reply: string, email: string): string {
  const at = reply.toLowerCase().indexOf(`<${email.toLowerCase()}>`)
  if (at < 0) return reply
  return reply.slice(0, at) + reply.slice(at + email.length + 2).replace(/^:?\s*/, '')
}

/** An entry, as the service shows it. */
export interface PrintedEntry {
  email: string
  scope: string
  tenant_id?: string
  reason: string
  message_id?: string
  detail?: string
  created_at: string
  expires_at?: string
  evidence?: {
    kind?: string
    decided_by?: string
    words?: string
    code?: number
    enhanced?: string
    reply?: string
    read_as?: string
    phase?: string
    last_delivered_at?: string
  }
}

export const ENTRY_HEADING = ['SINCE', 'ADDRESS', 'APPLIES TO', 'REASON', 'UNTIL', 'LAST DELIVERED', 'DETAIL']

export function entryRow(entry: PrintedEntry): string[] {
  const { created_at, email, scope, tenant_id, reason, expires_at = '-', detail = '-', evidence } = entry
  const appliesTo = scope === 'tenant' ? `tenant ${tenant_id}` : scope
  const cause = reason === 'bounce' && evidence?.kind ? `bounce (${evidence.kind})` : reason
  return [created_at, email, appliesTo, cause, expires_at, evidence?.last_delivered_at ?? '-', detail]
}

import type { Cell } from '../../address-files/csv-line.ts'
import { DeliveryStatus, type Reason, RecipientKind } from '../../gen/verdict/v1/outcomes_pb.ts'
import { reasonCode } from '../status/reasons.ts'

interface ExportedOutcome {
  status: DeliveryStatus
  reason?: Reason
  inDoubt?: boolean
}

export const OUTCOME_HEAD = ['status', 'reason', 'in_doubt']

export function outcomeCells({ status, reason, inDoubt = false }: ExportedOutcome): Cell[] {
  return [apiName(DeliveryStatus, status), reason === undefined ? undefined : reasonCode(reason), inDoubt]
}

export const kindCell = (kind: RecipientKind): Cell => apiName(RecipientKind, kind)

/** The value of an enumeration as the API writes it: `mailbox_full`. A value of a later version has no name. */
export function apiName(names: Record<string, number>, value: number | undefined): Cell {
  return Object.entries(names)
    .find(([, known]) => known === value)?.[0]
    .toLowerCase()
}

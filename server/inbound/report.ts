import { readComplaint } from './arf.ts'
import type { Failure } from './diagnosis.ts'
import { readDeliveryStatus } from './dsn.ts'
import { readParts } from './parts.ts'
import { readBounceInWords } from './plain-text-bounce.ts'

export type Report =
  | { kind: 'bounce'; failures: Failure[] }
  /** `type` is the word of the report, `abuse` for one; `addresses` are who may have complained, the best told first. */
  | { kind: 'complaint'; type: string; addresses: string[] }

/** What a mail reports: undefined when it reports nothing that failed, or is no report. */
export async function readReport(mail: Buffer): Promise<Report | undefined> {
  const parts = await readParts(mail)
  if (!parts) return undefined
  const complaint = readComplaint(parts)
  if (complaint) return { kind: 'complaint', ...complaint }
  const failures = readDeliveryStatus(parts) ?? readBounceInWords(parts)
  return failures.length > 0 ? { kind: 'bounce', failures } : undefined
}

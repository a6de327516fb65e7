import { readComplaint } from './arf.ts'
import type { FailedRecipient } from './diagnosis.ts'
import { readDeliveryStatus } from './dsn.ts'
import { readParts } from './parts.ts'
import { readPlainTextBounce } from './plain-text-bounce.ts'

export type Report =
  | { kind: 'bounce'; failures: FailedRecipient[] }
  /** `type` is that of the report, such as `abuse`; `addresses` may have complained, the most reliable first. */
  | { kind: 'complaint'; type: string; addresses: string[] }

/** The report in a mail; undefined when it reports no failure, or is no report. */
export async function readReport(mail: Buffer): Promise<Report | undefined> {
  const parts = await readParts(mail)
  if (!parts) return undefined
  const complaint = readComplaint(parts)
  if (complaint) return { kind: 'complaint', ...complaint }
  const failures = readDeliveryStatus(parts) ?? readPlainTextBounce(parts)
  return failures.length > 0 ? { kind: 'bounce', failures } : undefined
}

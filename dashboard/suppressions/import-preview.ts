import { createClient, type Transport } from '@connectrpc/connect'
import { type Preview as Counted, type Line, previewParts } from '../../address-files/import-preview.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { comparable } from '../outside-text/comparable.ts'

export const PART_LINES = 10_000

/** What an import would do. */
export interface PartialPreview extends Counted {
  /** Lines of the file that were looked at. */
  linesDone: number
}

interface Previewed {
  /** The address of each line; empty for a line that is skipped. */
  emails: readonly string[]
  tenantId: string | undefined
}

/** Counts what an import would do, part by part. Yields the sum after each part. */
export async function* previewLines(
  transport: Transport,
  { emails, tenantId }: Previewed,
  signal: AbortSignal,
): AsyncGenerator<PartialPreview> {
  const client = createClient(SuppressionService, transport)
  const dryRun = (part: Line[]) =>
    client.import({ emails: part.map(({ email }) => email), tenantId, dryRun: true }, { signal })
  let linesDone = 0
  for await (const preview of previewParts(partsOf(emails), { formOf: comparable, dryRun })) {
    linesDone = Math.min(linesDone + PART_LINES, emails.length)
    yield { ...preview, linesDone }
  }
}

function* partsOf(emails: readonly string[]): Generator<Line[]> {
  for (let at = 0; at < emails.length; at += PART_LINES) {
    const lines = emails.slice(at, at + PART_LINES).map((text, i) => ({ line: at + i + 1, email: text.trim() }))
    yield lines.filter(({ email }) => email !== '')
  }
}

import { emptyPreview, type Invalid, type Line, previewParts } from '../address-files/import-preview.ts'
import { matchingFormOf } from '../mail/address.ts'
import { type ImportResponse, invalidText } from './import-response.ts'

/** What an import would do, with the first ten of each kind. */
interface PrintedPreview {
  /** Addresses that it would add. */
  new: number
  /** Addresses that are suppressed already, and repetitions. */
  known: number
  invalid: number
  total: number
  first_new: string[]
  first_known: string[]
  first_invalid: Invalid[]
}

/** Sums the dry runs of the parts of a file. */
export async function previewOf(
  parts: Iterable<Line[]>,
  dryRun: (part: Line[]) => Promise<ImportResponse>,
): Promise<PrintedPreview> {
  let preview = emptyPreview()
  const service = {
    formOf: matchingFormOf,
    async dryRun(part: Line[]) {
      const { already_suppressed: alreadySuppressed, ...response } = await dryRun(part)
      return { ...response, alreadySuppressed }
    },
  }
  for await (preview of previewParts(parts, service));
  const { added, firstAdded, firstKnown, firstInvalid, ...counts } = preview
  return { new: added, ...counts, first_new: firstAdded, first_known: firstKnown, first_invalid: firstInvalid }
}

export function describePreview(preview: PrintedPreview): string {
  const { invalid, total, first_new, first_known, first_invalid } = preview
  return [
    `Dry run: nothing was imported. Of ${total} addresses:`,
    ...section(`${preview.new} new`, preview.new, first_new.map(indented)),
    ...section(`${preview.known} known`, preview.known, first_known.map(indented)),
    ...section(`${invalid} invalid`, invalid, first_invalid.map(invalidText)),
  ].join('\n')
}

const indented = (text: string) => `  ${text}`

function section(head: string, count: number, shown: string[]): string[] {
  return [head, ...shown, ...(count > shown.length ? [`  and ${count - shown.length} more`] : [])]
}

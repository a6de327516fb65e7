import { matchingFormOf } from '../mail/address.ts'
import { type ImportResponse, type Invalid, invalidOf, invalidText, type Line } from './import-response.ts'

const SHOWN = 10

/** What an import would do, with the first ten of each kind. */
interface Preview {
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

type PreviewResponse = ImportResponse & { preview?: { added?: string[]; known?: string[] } }

/** Sums the dry runs of the parts of a file. An address that an earlier part has is known to the later one. */
export async function previewOf(
  parts: Iterable<Line[]>,
  dryRun: (part: Line[]) => Promise<PreviewResponse>,
): Promise<Preview> {
  const preview: Preview = {
    ...{ new: 0, known: 0, invalid: 0, total: 0 },
    ...{ first_new: [], first_known: [], first_invalid: [] },
  }
  const seen = new Set<string>()
  for (const part of parts) {
    const forms = part.map(({ email }) => matchingFormOf(email))
    const isRepeated = forms.map((form) => form !== undefined && seen.has(form))
    const repeated = part.filter((_, i) => isRepeated[i])
    const rest = part.filter((_, i) => !isRepeated[i])
    for (const form of forms) if (form !== undefined) seen.add(form)
    preview.known += repeated.length
    preview.total += repeated.length
    const texts = repeated.map(({ email }) => email)
    keepFirst(preview.first_known, texts)
    if (rest.length > 0) add(preview, rest, await dryRun(rest))
  }
  return preview
}

function add(preview: Preview, part: Line[], response: PreviewResponse): void {
  preview.new += response.imported
  preview.known += response.already_suppressed
  preview.invalid += response.invalid
  preview.total += response.total
  keepFirst(preview.first_new, response.preview?.added ?? [])
  keepFirst(preview.first_known, response.preview?.known ?? [])
  keepFirst(preview.first_invalid, invalidOf(part, response))
}

const keepFirst = <T>(kept: T[], more: readonly T[]) => void kept.push(...more.slice(0, SHOWN - kept.length))

export function describePreview(preview: Preview): string {
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

/** How many addresses of each kind a preview shows. */
const SHOWN = 10

export interface Line {
  /** The line where its record begins, or the position of its entry in JSON, from 1. */
  line: number
  email: string
}

/** A text that the service refused. */
export type Invalid = Line & { error: string }

/** What an import would do, with the first ten addresses of each kind. */
export interface Preview {
  added: number
  /** Addresses that are suppressed already, and repetitions. */
  known: number
  invalid: number
  total: number
  firstAdded: string[]
  firstKnown: string[]
  firstInvalid: Invalid[]
}

/** A text that the service refused. `index` is its position in the request. */
export interface Refusal {
  index: number
  email: string
  error: string
}

/** The service's response to the dry run of one part. */
export interface DryRun {
  imported: number
  alreadySuppressed: number
  /** All texts that it refused. */
  errors: readonly Refusal[]
  preview?: { added?: readonly string[]; known?: readonly string[] }
}

interface Service {
  /** The form that all spellings of an address share; undefined for a text that is no address. */
  formOf(text: string): string | undefined
  dryRun(part: Line[]): Promise<DryRun>
}

/**
 * Sums the dry runs of the parts of a file, and yields the sum after each. An address of an earlier part is known to
 * the later ones. A text that the service refused is invalid in every part.
 */
export async function* previewParts(
  parts: Iterable<Line[]>,
  { formOf, dryRun }: Service,
): AsyncGenerator<Preview, void, void> {
  const preview = emptyPreview()
  const seen = new Set<string | undefined>()
  for (const part of parts) {
    const texts = part.map((line) => ({ line, form: formOf(line.email) }))
    const rest = texts.filter(({ form }) => !seen.has(form))
    const repeated = texts.filter(({ form }) => seen.has(form))
    preview.total += texts.length
    preview.known += repeated.length
    keepFirst(
      preview.firstKnown,
      repeated.map(({ line }) => line.email),
    )
    if (rest.length > 0) {
      const lines = rest.map(({ line }) => line)
      const response = await dryRun(lines)
      add(preview, lines, response)
      const refused = new Set(response.errors.map(({ index }) => index))
      for (const [i, { form }] of rest.entries()) if (form !== undefined && !refused.has(i)) seen.add(form)
    }
    yield { ...preview }
  }
}

export const emptyPreview = (): Preview => ({
  ...{ added: 0, known: 0, invalid: 0, total: 0 },
  ...{ firstAdded: [], firstKnown: [], firstInvalid: [] },
})

function add(preview: Preview, lines: Line[], { imported, alreadySuppressed, errors, preview: first }: DryRun): void {
  preview.added += imported
  preview.known += alreadySuppressed
  preview.invalid += errors.length
  keepFirst(preview.firstAdded, first?.added ?? [])
  keepFirst(preview.firstKnown, first?.known ?? [])
  keepFirst(preview.firstInvalid, invalidOf(lines, errors))
}

/** The texts of a request that the service refused, with their lines. */
export const invalidOf = (lines: Line[], errors: readonly Refusal[]): Invalid[] =>
  errors.map(({ index, email, error }) => ({ line: lines[index]!.line, email, error }))

const keepFirst = <T>(kept: T[], more: readonly T[]) => void kept.push(...more.slice(0, SHOWN - kept.length))

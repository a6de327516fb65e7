import { createClient, type Transport } from '@connectrpc/connect'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'

export const PART_LINES = 10_000
const SHOWN = 10

/** What an import would do, with the first ten of each kind. */
export interface Preview {
  added: number
  known: number
  invalid: number
  firstAdded: string[]
  firstKnown: string[]
  firstInvalid: { line: number; text: string }[]
  /** Lines of the file that were looked at. */
  linesDone: number
}

interface Previewed {
  emails: readonly string[]
  tenantId: string | undefined
}

/** Counts what an import would do, part by part. Yields the sum after each part. */
export async function* previewParts(
  transport: Transport,
  { emails, tenantId }: Previewed,
  signal: AbortSignal,
): AsyncGenerator<Preview> {
  const client = createClient(SuppressionService, transport)
  const seen = new Set<string>()
  const preview: Preview = {
    ...{ added: 0, known: 0, invalid: 0, linesDone: 0 },
    ...{ firstAdded: [], firstKnown: [], firstInvalid: [] },
  }
  for (let at = 0; at < emails.length; at += PART_LINES) {
    const lines = emails.slice(at, at + PART_LINES).map((text, i) => ({ line: at + i + 1, text: text.trim() }))
    const asked = lines.filter(({ text }) => text !== '' && !seen.has(text.toLowerCase()))
    const repeated = lines.filter(({ text }) => seen.has(text.toLowerCase()))
    for (const { text } of asked) seen.add(text.toLowerCase())
    preview.known += repeated.length
    keepFirst(
      preview.firstKnown,
      repeated.map(({ text }) => text),
    )
    if (asked.length > 0) {
      const request = { emails: asked.map(({ text }) => text), tenantId, dryRun: true }
      const response = await client.import(request, { signal })
      preview.added += response.imported
      preview.known += response.alreadySuppressed
      preview.invalid += response.invalid
      keepFirst(preview.firstAdded, response.preview?.added ?? [])
      keepFirst(preview.firstKnown, response.preview?.known ?? [])
      keepFirst(
        preview.firstInvalid,
        response.errors.map(({ index }) => asked[index]!),
      )
    }
    preview.linesDone = at + lines.length
    yield { ...preview }
  }
}

const keepFirst = <T>(kept: T[], more: readonly T[]) => void kept.push(...more.slice(0, SHOWN - kept.length))

import { AddressFileFault, MAX_SHOWN, type Row, wordsOf } from './table.ts'

/** The reasons of entries that a file may give. */
export type Reason = 'bounce' | 'complaint' | 'manual' | 'import'

/** The words of the service, and those of the exports that docs/migrating names. */
const WORDS: Record<Reason, string[]> = {
  bounce: ['bounce, bounces, bounced, hard bounce, hard bounced, hard, bounce rule'],
  complaint: ['complaint, complaints, complained, spam, spam complaint, spam report, abuse, contact flagged as spam'],
  manual: [
    'manual, manual suppression, manually added, custom, admin blocked, compliance, unsub, unsubscribe, unsubscribed',
    'list unsubscribe, unsubscribe link, unsubscribed via email, unsubscribed via api, unsubscribed via ma',
  ],
  import: ['import, imported'],
}
const REASONS = new Map(
  Object.entries(WORDS).flatMap(([reason, lists]) =>
    lists.flatMap((list) => list.split(', ').map((word) => [word, reason as Reason] as const)),
  ),
)

const reasonOf = (cell: string) => REASONS.get(wordsOf(cell).join(' '))
export const isReason = (cell: string): boolean => reasonOf(cell) !== undefined

/** The reason of each row by its cell. Throws for a word that is none of these. */
export function reasonsOf(rows: readonly Row[], index: number): Map<Row, Reason> {
  const reasons = new Map<Row, Reason>()
  const unknown = new Set<string>()
  for (const row of rows) {
    const cell = (row.cells[index] ?? '').trim()
    const reason = reasonOf(cell)
    if (reason) reasons.set(row, reason)
    else if (unknown.size < 20) unknown.add(cell || '(empty)')
  }
  if (unknown.size > 0) {
    const words = [...REASONS.keys()].join(', ')
    throw new AddressFileFault(
      `These are no reasons: ${[...unknown].join(', ').slice(0, MAX_SHOWN)}. Known ones: ${words}`,
    )
  }
  return reasons
}

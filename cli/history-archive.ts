import {
  type ArchiveSearch,
  eraseIn,
  exportOfArchive,
  mentionsIn,
  type SearchParts,
} from '../server/archive/addresses.ts'
import { withArchive } from '../server/archive/open.ts'
import { CliError } from './command.ts'
import { variables } from './environment.ts'

/** Opens the archive that `HISTORY_ARCHIVE` names. Throws a CliError without one. */
export async function openArchive<T>(use: (parts: SearchParts) => Promise<T>): Promise<T> {
  const opened = await withOptionalArchive(async (parts) => ({ result: await use(parts).catch(blame(parts)) }))
  if (!opened) throw new CliError('configuration', 'HISTORY_ARCHIVE is not set. Example: s3://verdict-history/eu')
  return opened.result
}

/** The same, but returns undefined when there is none. */
export async function withOptionalArchive<T>(use: (parts: SearchParts) => Promise<T>): Promise<T | undefined> {
  const { historyArchive } = variables('historyArchive')
  return historyArchive && withArchive(historyArchive, use)
}

/** Erases an address in the archive, and describes what changed. */
export async function eraseInArchive(parts: SearchParts, search: ArchiveSearch) {
  return described(await eraseIn(parts, search), 'changed')
}

/** Describes what an erasure would change in the archive. */
export async function countInArchive(parts: SearchParts, search: ArchiveSearch) {
  const days: Record<string, number> = {}
  try {
    for await (const { day, rows } of mentionsIn(parts, search)) days[day] = (days[day] ?? 0) + rows.length
  } catch (error) {
    blame(parts)(error as Error)
  }
  return described(days, 'mention the address')
}

/** Yields the rows of the archive that mention an address, as JSON. */
export async function* exportInArchive(parts: SearchParts, search: ArchiveSearch): AsyncGenerator<string> {
  try {
    yield* exportOfArchive(parts, search)
  } catch (error) {
    blame(parts)(error as Error)
  }
}

/** Throws the error as a CliError that names the archive: it would pass for a fault of the database. */
const blame =
  ({ store }: SearchParts) =>
  (error: Error): never => {
    if (error instanceof CliError) throw error
    throw new CliError('failed', `The archive ${store.name} cannot be used: ${error.message}`)
  }

function described(days: Record<string, number>, what: string) {
  const rows = Object.values(days).reduce((sum, count) => sum + count, 0)
  const count = Object.keys(days).length
  const inDays = count === 1 ? '1 day' : `${count} days`
  return { json: { rows, days }, text: `In the archive ${rows} rows of ${inDays} ${what}.` }
}

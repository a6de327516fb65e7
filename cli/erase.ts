import { createInterface } from 'node:readline/promises'
import { matchingFormOf } from '../mail/address.ts'
import type { Database } from '../server/db/connect.ts'
import { eq } from '../server/db/drizzle.ts'
import { createSealer } from '../server/db/encryption.ts'
import { publicId } from '../server/db/ids.ts'
import { LEASE_S, LeaseLost } from '../server/db/leases.ts'
import { people as peopleTable } from '../server/db/people-schema.ts'
import {
  countMentions,
  type ErasedRows,
  type Erasure,
  type ErasureParts,
  ErasureRuns,
  erase as eraseAddress,
} from '../server/erasure/erase.ts'
import type { ErasureProgress } from '../server/erasure/progress.ts'
import { SEARCH_MS } from '../server/erasure/scan.ts'
import { wantedAddress } from '../server/erasure/spellings.ts'
import { createErasedForm } from '../server/reputation/erased-form.ts'
import { makeErasureKey, readErasureKey } from '../server/reputation/erasure-key.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { CliError, command, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { variables } from './environment.ts'
import { countInArchive, eraseInArchive, withOptionalArchive } from './history-archive.ts'
import { operator } from './operator.ts'

export const eraseCommand = (print: Print) =>
  command(
    'erase',
    'verdict erase ann@example.com --dry-run',
    'verdict erase ann@example.com --account "Web shop" --yes',
  )
    .summary('Erase an address from the database (GDPR, Article 17)')
    .description(
      'Erase an address from the database (GDPR, Article 17). A keyed hash replaces it; states and counts stay, and a ' +
        'suppressed address stays suppressed. Run it again to continue an interrupted erasure. See docs/erasure.md.',
    )
    .argument('<address>')
    .addOption(accountOption('The id or name of the account; by default all accounts'))
    .option('--dry-run', 'Count the rows that mention the address, and change nothing')
    .option('--yes', 'Do not ask for confirmation')
    .action(async (text, { account, dryRun, yes }) => {
      const email = readAddress(text)
      const sealer = createSealer(variables('encryptionKeys').encryptionKeys)
      await searchDatabase(async (db, clock) => {
        const accountId = account === undefined ? undefined : (await chooseAccount(db, account)).id
        const isPerson = await isPersonOfDashboard(db, email)
        const parts = { db, clock, authorOf: operator, progress: reporter() }
        if (!dryRun && !yes) await confirm(email, account)
        const key = dryRun ? ((await readErasureKey(db, sealer)) ?? Buffer.alloc(32)) : await makeErasureKey(db, sealer)
        const search = { accountId, wanted: wantedAddress(email, createErasedForm(key)) }
        const { json, lines } = await (dryRun ? countRows : eraseRows)(parts, search, isPerson)
        print({ json, text: [...lines, ...(isPerson ? [personHint(email)] : [])].join('\n') })
      })
    })

async function countRows(parts: ErasureParts, search: Erasure, is_person: boolean) {
  const counts = await countMentions(parts, search)
  const archived = await withOptionalArchive((archive) => countInArchive(archive, search))
  const json = { dry_run: true, rows: sumOf(counts), accounts: countsView(counts), is_person }
  return {
    json: { ...json, ...(archived && { archive: archived.json }) },
    lines: [rowsText(counts, 'mention'), ...(archived ? [archived.text] : [])],
  }
}

async function eraseRows(parts: ErasureParts, erasure: Erasure, is_person: boolean) {
  const { erased } = erasure.wanted
  const { counts, isResumed: resumed } = await eraseAddress(parts, erasure).catch((error) => {
    if (error instanceof ErasureRuns) throw new CliError('unavailable', RUNS)
    throw error instanceof LeaseLost ? new CliError('unavailable', TAKEN_OVER) : error
  })
  const archiving = withOptionalArchive((archive) => eraseInArchive(archive, erasure))
  const archived = await archiving.catch((error: Error) => {
    throw new CliError('unavailable', `${ARCHIVE_LEFT}: ${error.message}\nRun this again.`)
  })
  const head = resumed ? ['Continued an interrupted erasure.'] : []
  const json = { erased, rows: sumOf(counts), accounts: countsView(counts), is_person, resumed }
  return {
    json: { ...json, ...(archived && { archive: archived.json }) },
    lines: [
      ...head,
      rowsText(counts, 'changed'),
      ...(archived ? [archived.text] : []),
      `The address now reads ${erased}.`,
    ],
  }
}

/** `withDatabase` for a search of the whole database. The second connection renews the lease of a long search. */
export const searchDatabase: typeof withDatabase = (search) =>
  withDatabase(search, { statementMs: SEARCH_MS, connections: 2 })

const RUNS =
  `Another erasure is running on this database, or was killed less than ${LEASE_S} s ago, or history is archived. ` +
  'Wait until that has ended, and run this again.'
const TAKEN_OVER =
  `This erasure did not reach the database for ${LEASE_S} s, and another one may have begun. ` +
  'Run this again to continue.'

const ARCHIVE_LEFT = 'The address is erased from the database, but not yet from the archive'

export function readAddress(text: string): string {
  const email = matchingFormOf(text)
  if (email === undefined)
    throw new CliError('usage', `${text} is not an address. Expected something like ann@example.com`)
  return email
}

/** An erasure cannot be undone. Without a terminal it needs `--yes`. */
export async function confirm(email: string, account: string | undefined): Promise<void> {
  if (!process.stdin.isTTY) throw new CliError('usage', 'An erasure cannot be undone. Confirm it with --yes.')
  const asked = createInterface({ input: process.stdin, output: process.stderr })
  const where = account === undefined ? 'every account' : `the account ${account}`
  const typed = await asked.question(
    `This erases ${email} from ${where} and cannot be undone. Type the address again: `,
  )
  asked.close()
  if (matchingFormOf(typed.trim()) !== email) throw new CliError('failed', 'Nothing was erased: the addresses differ.')
}

async function isPersonOfDashboard(db: Database, email: string): Promise<boolean> {
  return (await db.$count(peopleTable, eq(peopleTable.email, email))) > 0
}

const personHint = (email: string) =>
  `${email} also signs in to the dashboard, and that was not touched. Remove it: verdict people remove ${email}`

/** Writes the progress to stderr, once a second. */
export function reporter(): (progress: ErasureProgress) => void {
  const startedAt = performance.now()
  let reportedAt = startedAt
  return ({ part, blocksDone, blocks, rows }) => {
    const now = performance.now()
    if (now - reportedAt < 1_000) return
    reportedAt = now
    const megabytes = (count: number) => Math.round(count / 128)
    const rate = megabytes(blocksDone) / ((now - startedAt) / 1_000)
    console.error(
      `${part}: ${megabytes(blocksDone)} of ${megabytes(blocks)} MB searched, ${rate.toFixed(0)} MB/s, ${rows} rows found`,
    )
  }
}

const sumOf = (counts: ErasedRows): number =>
  Object.values(counts)
    .flatMap((ofAccount) => Object.values(ofAccount))
    .reduce((sum, rows) => sum + rows, 0)

function countsView(counts: ErasedRows) {
  return Object.entries(counts).map(([accountId, tables]) => ({
    account_id: accountId === '' ? null : publicId('acc', accountId),
    tables,
  }))
}

function rowsText(counts: ErasedRows, verb: 'mention' | 'changed'): string {
  const rows = sumOf(counts)
  if (rows === 0) return 'No row mentions the address.'
  const byTable: Record<string, number> = {}
  for (const tables of Object.values(counts)) {
    for (const [table, rows] of Object.entries(tables)) byTable[table] = (byTable[table] ?? 0) + rows
  }
  const list = Object.entries(byTable).map(([table, rows]) => `  ${table.padEnd(20)} ${rows}`)
  const accounts = Object.keys(counts).length
  const where = accounts === 1 ? 'of one account' : `of ${accounts} accounts`
  return [`${rows} rows ${where} ${verb === 'mention' ? 'mention the address' : 'changed'}:`, ...list].join('\n')
}

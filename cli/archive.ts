import { Command } from '@commander-js/extra-typings'
import { checkFile } from '../server/archive/archive-day.ts'
import { type ArchivedTable, daysOf, type Manifest, readManifest } from '../server/archive/days.ts'
import type { ArchiveStore } from '../server/archive/store.ts'
import { createSealer } from '../server/db/encryption.ts'
import { wantedAddress } from '../server/erasure/spellings.ts'
import { createErasedForm } from '../server/reputation/erased-form.ts'
import { makeErasureKey } from '../server/reputation/erasure-key.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { CliError, command, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { variables } from './environment.ts'
import { confirm, readAddress } from './erase.ts'
import { eraseInArchive, openArchive } from './history-archive.ts'
import { table } from './table.ts'

export const archiveCommand = (print: Print) =>
  new Command('archive')
    .summary('Look after the archive of history: list, verify, erase')
    .description(
      'Look after the archive of history that is older than 90 days, which `HISTORY_ARCHIVE` names. See docs/archive.md.',
    )
    .addCommand(list(print))
    .addCommand(verify(print))
    .addCommand(erase(print))

const list = (print: Print) =>
  command('list', 'verdict archive list', 'verdict archive list --json')
    .description('List the days of the archive, their messages and bytes')
    .action(async () => {
      await openArchive(async ({ store }) => {
        const days: Manifest[] = []
        for (const day of await daysOf(store)) days.push(await readManifest(store, day))
        const rows = days.map(({ day, tables, release, written_at }) => [
          day,
          String(tables.messages?.rows ?? 0),
          megabytes(tables),
          release,
          written_at,
        ])
        const heading = ['DAY', 'MESSAGES', 'MB', 'RELEASE', 'WRITTEN']
        print({ json: { archive: store.name, days }, text: table(heading, rows, noDay(store)) })
      })
    })

const noDay = ({ name }: ArchiveStore) => `${name} has no day yet.`

const megabytes = (tables: Manifest['tables']) =>
  (Object.values(tables).reduce((sum, { bytes }) => sum + bytes, 0) / 1e6).toFixed(1)

const verify = (print: Print) =>
  command('verify', 'verdict archive verify', 'verdict archive verify 2026-08-01')
    .description('Read every file of the archive, or of one day, and compare it with what was written')
    .argument('[day]', 'A day in UTC, such as 2026-08-01')
    .action(async (day) => {
      await openArchive(async (parts) => {
        const all = await daysOf(parts.store)
        if (day !== undefined && !all.includes(day))
          throw new CliError('not_found', `${parts.store.name} has no day ${day}`)
        const days = day === undefined ? all : [day]
        const faults: { day: string; table?: string; fault: string }[] = []
        for (const day of days) {
          const note = (table?: string) => (error: Error) => void faults.push({ day, table, fault: error.message })
          const manifest = await readManifest(parts.store, day).catch(note())
          for (const [name, facts] of Object.entries(manifest?.tables ?? {})) {
            const table = name as ArchivedTable
            await checkFile(parts, { day, table, facts }).catch(note(table))
          }
        }
        const count = days.length === 1 ? '1 day' : `${days.length} days`
        const allIsWell = days.length === 0 ? noDay(parts.store) : `All files of ${count} are as they were written.`
        const text = faults.length === 0 ? allIsWell : lines(faults)
        print({ json: { days: days.length, faults }, text, exit: faults.length === 0 ? 'ok' : 'failed' })
      })
    })

const lines = (faults: { day: string; fault: string }[]) =>
  faults.map(({ day, fault }) => `${day}: ${fault}`).join('\n')

const erase = (print: Print) =>
  command('erase', 'verdict archive erase ann@example.com --yes')
    .summary('Erase an address from the archive')
    .description(
      'Erase an address from the archive as `verdict erase` does it in the database, which also erases it here. ' +
        'Old versions that a versioned bucket keeps remain: remove them in the bucket.',
    )
    .argument('<address>')
    .addOption(accountOption('The id or name of the account; by default all accounts'))
    .option('--yes', 'Do not ask for confirmation')
    .action(async (text, { account, yes }) => {
      const email = readAddress(text)
      const { encryptionKeys } = variables('encryptionKeys')
      await withDatabase(async (db) => {
        const accountId = account === undefined ? undefined : (await chooseAccount(db, account)).id
        if (!yes) await confirm(email, account)
        const wanted = wantedAddress(email, createErasedForm(await makeErasureKey(db, createSealer(encryptionKeys))))
        const changed = await openArchive((parts) => eraseInArchive(parts, { wanted, accountId }))
        print({
          json: { erased: wanted.erased, ...changed.json },
          text: `${changed.text}\nThe address now reads ${wanted.erased}.`,
        })
      })
    })

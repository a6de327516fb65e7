import type { SearchParts } from '../server/archive/addresses.ts'
import { exportOf } from '../server/erasure/export-address.ts'
import { wantedAddress } from '../server/erasure/spellings.ts'
import { createErasedForm } from '../server/reputation/erased-form.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { command, type Print } from './command.ts'
import { readAddress, reporter, searchDatabase } from './erase.ts'
import { exportInArchive, withOptionalArchive } from './history-archive.ts'
import { writePieces, wroteTo } from './output-file.ts'

export const exportCommand = (print: Print) =>
  command('export', 'verdict export ann@example.com --output ann.json', 'verdict export ann@example.com')
    .summary('Write everything that the database holds about an address (GDPR, Article 15)')
    .description(
      'Write everything that the database and the archive hold about an address as JSON (GDPR, Article 15): the rows ' +
        'that mention it, by table. Rows may name other people too: read them before you hand them over. See docs/erasure.md.',
    )
    .argument('<address>')
    .addOption(accountOption('The id or name of the account; by default all accounts'))
    .option('--output <file>', 'The file to write, which must not exist yet; by default standard output')
    .action(async (text, { account, output }) => {
      const email = readAddress(text)
      // Nothing is replaced, so any key serves.
      const wanted = wantedAddress(email, createErasedForm(new Uint8Array(32)))
      await searchDatabase(async (db, clock) => {
        const accountId = account === undefined ? undefined : (await chooseAccount(db, account)).id
        const write = (archived?: AsyncIterable<string>) => {
          const options = { now: new Date(clock.now()), archived, progress: reporter() }
          return writePieces(output, exportOf(db, { accountId, wanted }, options))
        }
        const withArchive = async (parts: SearchParts) => {
          await write(exportInArchive(parts, { accountId, wanted }))
          return true
        }
        if (!(await withOptionalArchive(withArchive))) await write()
      })
      const where = output ?? 'standard output'
      const wrote = {
        json: { address: email, output: where },
        text: `Wrote the rows that mention the address to ${where}.`,
      }
      print(wroteTo(output, wrote))
    })

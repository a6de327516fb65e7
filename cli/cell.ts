import { isCellName } from '../server/access/api-key.ts'
import { nameCell, namesInKeys, readCell } from '../server/directory/cell.ts'
import { CliError, command, type Print } from './command.ts'
import { withDatabase } from './database.ts'

export const cellCommand = (print: Print) =>
  command('cell', 'verdict cell', 'verdict cell b2')
    .summary('Show or set the name that new API keys give to this installation')
    .description(
      'Show or set the name of this installation among several behind one proxy. New API keys carry it, so that the\n' +
        'proxy sends each request to the installation of its account. Existing keys stay as they are.',
    )
    .argument('[name]', 'Two letters or digits that no other installation uses')
    .action(async (name) => {
      if (name !== undefined && !isCellName(name)) {
        throw new CliError('usage', `${name} is not the name of a cell: it needs two letters or digits, such as b2.`)
      }
      const shown = await withDatabase(async (db) => {
        if (name !== undefined) await nameCell(db, name)
        return { cell: await readCell(db), names_in_keys: await namesInKeys(db) }
      })
      print({ json: shown, text: cellText(shown.cell, shown.names_in_keys) })
    })

function cellText(cell: string | undefined, namesInKeys: string[]): string {
  const others = namesInKeys.filter((name) => name !== cell)
  const lines = [
    cell === undefined ? 'This installation is not a cell. Name it: verdict cell <name>' : `New keys carry ${cell}.`,
  ]
  if (others.length > 0)
    lines.push(`Existing keys begin with these names, so no other cell may have them: ${others.join(' ')}`)
  return lines.join('\n')
}

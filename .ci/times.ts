import { readFileSync, writeFileSync } from 'node:fs'
import { PARTS, type Part, RESULTS } from './parts.ts'
import { readResult } from './run-parts.ts'

// `npm run ci:times` writes the parts of `.ci/parts.ts` into CONTRIBUTING.md, with the times of their last runs in this
// checkout. A part that did not run here keeps its time.

const FILE = 'CONTRIBUTING.md'
const BETWEEN = /(?<=<!-- parts -->\n\n)[\s\S]*?(?=\n\n<!-- \/parts -->)/

/** The table with the minutes that `minutesOf` knows. */
export function partsTable(minutesOf: (part: Part) => string): string {
  const rows = PARTS.map((part) => [
    `\`${part.name}\``,
    `\`${part.command}\``,
    part.checks,
    part.each === 'change' ? 'every change' : part.rooms.map((room) => `\`${room}\``).join(', '),
    minutesOf(part),
  ])
  const head = ['Part', 'Command', 'Checks', 'Must run for a change of', 'Minutes']
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** The table as CONTRIBUTING.md has it, and the minutes of each of its parts. */
export function printedTable(): { table: string; minutes: Map<string, string> } {
  const table = BETWEEN.exec(readFileSync(FILE, 'utf8'))![0]
  const rows = [...table.matchAll(/^\| `([a-z-]+)` .*\| ([^|]*?) +\|$/gm)]
  return { table, minutes: new Map(rows.map(([, name, minutes]) => [name!, minutes!])) }
}

if (import.meta.main) {
  const { minutes } = printedTable()
  const table = partsTable(({ name }) => {
    const result = readResult(RESULTS, name)
    return result ? (result.seconds / 60).toFixed(1) : (minutes.get(name) ?? 'not run')
  })
  writeFileSync(FILE, readFileSync(FILE, 'utf8').replace(BETWEEN, table))
  for (const { name } of PARTS) {
    const slowest = Object.entries(readResult(RESULTS, name)?.files ?? {}).toSorted(([, a], [, b]) => b - a)
    for (const [file, seconds] of slowest.slice(0, 5)) console.log(`${name}: ${file} ${seconds} s`)
  }
}

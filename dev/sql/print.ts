import { STATEMENTS } from './statements.ts'

const WIDTH = 120

const HEAD = `-- Every statement that a send or an event runs, whole: a fragment that several statements share shows in each of them.
-- \`npm run gen\` prints this file from dev/sql/statements.ts.
`

/** The content of docs/statements.sql. */
export function statementsPage(): string {
  const sections = STATEMENTS.map(({ name, does, sql }) => `-- ${name}\n-- ${does}\n${layOut(sql)};\n`)
  return [HEAD, ...sections].join('\n')
}

/** The statement without blank lines and common indentation, no line longer than WIDTH where a comma allows it. */
function layOut(sql: string): string {
  const lines = sql
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
  const margin = Math.min(...lines.map(indentationOf))
  return lines.flatMap((line) => fold(line.slice(margin))).join('\n')
}

function fold(line: string): string[] {
  const folded: string[] = []
  const margin = ' '.repeat(indentationOf(line) + 2)
  let rest = line
  while (rest.length > WIDTH) {
    const comma = rest.lastIndexOf(', ', WIDTH - 1)
    if (comma < margin.length) break
    folded.push(rest.slice(0, comma + 1))
    rest = margin + rest.slice(comma + 2)
  }
  return [...folded, rest]
}

const indentationOf = (line: string): number => line.length - line.trimStart().length

import type { CheckState } from './check.ts'
import type { CheckResult } from './examine.ts'

const WIDTH = 80
const STATE_WIDTH = 'skipped'.length

/** The results as text: a heading for each group, and a line or more for each check. */
export function reportText(results: readonly CheckResult[]): string {
  const nameWidth = Math.max(...results.map(({ name }) => name.length))
  const groups = Map.groupBy(results, ({ group }) => group)
  const texts = [...groups].map(([group, checks]) =>
    [group, ...checks.flatMap((result) => linesOf(result, nameWidth))].join('\n'),
  )
  return [...texts, summaryOf(results)].join('\n\n')
}

function linesOf({ name, state, seen, wayOut }: CheckResult, nameWidth: number): string[] {
  const head = `  ${state.padEnd(STATE_WIDTH)}  ${name.padEnd(nameWidth)}  `
  const lines = wrap(seen, WIDTH - head.length)
  if (wayOut) lines.push(...wrap(`Fix: ${wayOut}`, WIDTH - head.length))
  return lines.map((line, index) => (index === 0 ? head : ' '.repeat(head.length)) + line)
}

/** Breaks a text into lines of `width` characters. A longer word, such as a URL, stays whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

function summaryOf(results: readonly CheckResult[]): string {
  const count = (state: CheckState) => results.filter((result) => result.state === state).length
  const counts = `${count('ok')} ok, ${count('skipped')} skipped`
  const [failures, warnings] = [count('failed'), count('warning')]
  if (failures + warnings === 0) return `All is well: ${counts}.`
  return `${failures} failed, ${warnings === 1 ? '1 warning' : `${warnings} warnings`}, ${counts}.`
}

const COLOURS: Record<CheckState, number> = { ok: 32, warning: 33, failed: 31, skipped: 90 }

/** Colours the states of a report, for a terminal. */
export function inColour(report: string): string {
  return report.replace(/^ {2}(ok|warning|failed|skipped)\b/gm, (line, state: CheckState) => {
    return `\u001b[${COLOURS[state]}m${line}\u001b[0m`
  })
}

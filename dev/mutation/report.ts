import { relative } from 'node:path'
import type { MutantJudgement } from './judge.ts'
import type { Room } from './rooms.ts'

interface KillCount {
  killed: number
  survived: number
  timedOut: number
  /** The share that was killed or timed out. */
  percent: number
}

function countOf(judgements: MutantJudgement[]): KillCount {
  const of = (verdict: MutantJudgement['verdict']) =>
    judgements.filter((judgement) => judgement.verdict === verdict).length
  const [killed, timedOut] = [of('killed'), of('timed out')]
  return { killed, survived: of('survived'), timedOut, percent: (100 * (killed + timedOut)) / judgements.length }
}

const shownIn = (root: string) => (judgement: MutantJudgement) => ({
  place: `${relative(root, judgement.file)}:${judgement.line}`,
  operator: judgement.operator,
  change: judgement.change,
  verdict: judgement.verdict,
  isReached: judgement.isReached,
  by: judgement.by,
})

export type MutationReport = ReturnType<typeof mutationReport>

export function mutationReport(judgements: MutantJudgement[], { floor }: Room, root: string) {
  const shown = shownIn(root)
  const classes = Object.entries(Object.groupBy(judgements, ({ operator }) => operator)).map(([operator, those]) => ({
    operator,
    ...countOf(those),
  }))
  const phrases = judgements.filter(({ operator }) => operator === 'phrase')
  const code = judgements.filter(({ operator }) => operator !== 'phrase')
  const totals = [
    { name: 'code', floor: floor.code, ...countOf(code) },
    ...(floor.phrases === undefined ? [] : [{ name: 'phrases', floor: floor.phrases, ...countOf(phrases) }]),
  ]
  return {
    classes,
    totals,
    /** Nothing judged is nothing proved. */
    isBelowFloor: totals.some(({ percent, floor }) => !(percent >= floor)),
    survivors: judgements
      .filter(({ verdict }) => verdict === 'survived')
      .toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.start - b.start))
      .map(shown),
    /** The order is that of the run. */
    judged: judgements.map(shown),
  }
}

export function printed({ classes, totals, survivors }: MutationReport): string {
  const row = (name: string, { killed, survived, timedOut, percent }: KillCount, end = '') =>
    `${name.padEnd(12)}${[killed, survived, timedOut].map((count) => String(count).padStart(10)).join('')}${percent.toFixed(1).padStart(9)} %${end}`
  return [
    ...survivors.map(
      ({ place, operator, change, isReached }) =>
        `${place} ${operator}: ${change}${isReached ? '' : ' (no test reaches it)'}`,
    ),
    '',
    `${'class'.padEnd(12)}    killed  survived timed out`,
    ...classes.map((count) => row(count.operator, count)),
    ...totals.map((count) => row(count.name, count, ` (floor: ${count.floor} %)`)),
  ].join('\n')
}

import { relative } from 'node:path'
import type { MutantJudgement } from './judge.ts'
import type { Room } from './rooms.ts'

interface KillCount {
  killed: number
  survived: number
  timedOut: number
  /** Survivors of the quick tests that met no slow one. */
  open: number
  /** The share that was killed or timed out. Open mutants count with the share of the others that slow tests killed. */
  percent: number
}

function countOf(judgements: MutantJudgement[]): KillCount {
  const of = (verdict: MutantJudgement['verdict']) =>
    judgements.filter((judgement) => judgement.verdict === verdict).length
  const [killed, timedOut] = [of('killed'), of('timed out')]
  const open = judgements.filter(({ isOpen }) => isOpen).length
  const survived = of('survived') - open
  const bySlow = judgements.filter(({ isLate }) => isLate).length
  const ofOpen = open * (bySlow / (bySlow + survived) || 0)
  return { killed, survived, timedOut, open, percent: (100 * (killed + timedOut + ofOpen)) / judgements.length }
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
      .filter(({ verdict, isOpen }) => verdict === 'survived' && !isOpen)
      .toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.start - b.start))
      .map(shown),
    /** The order is that of the run. */
    judged: judgements.map(shown),
  }
}

export function printed({ classes, totals, survivors }: MutationReport): string {
  const row = (name: string, { killed, survived, timedOut, open, percent }: KillCount, end = '') =>
    `${name.padEnd(12)}${[killed, survived, timedOut, open].map((count) => String(count).padStart(10)).join('')}${percent.toFixed(1).padStart(9)} %${end}`
  return [
    ...survivors.map(
      ({ place, operator, change, isReached }) =>
        `${place} ${operator}: ${change}${isReached ? '' : ' (no test reaches it)'}`,
    ),
    '',
    `${'class'.padEnd(12)}    killed  survived timed out      open`,
    ...classes.map((count) => row(count.operator, count)),
    ...totals.map((count) => row(count.name, count, ` (floor: ${count.floor} %)`)),
  ].join('\n')
}

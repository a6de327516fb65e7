import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NAMES, replyOf } from '../../../bench/verdicts/labelled.ts'
import { type Mutant, mutantsOf } from '../../../dev/mutation/mutants.ts'
import { classify } from '../../../mail/smtp/classify.ts'
import type { ReplyPhase } from '../../../mail/smtp/rules/rule.ts'

const groups = readFileSync(new URL('phrases.txt', import.meta.url), 'utf8')
  .split(/\n{2,}/)
  .slice(1)
  .map((group) => {
    const [heading = '', ...lines] = group.trim().split('\n')
    const [, phase, verdict, frame = ''] = /^(\w+) (\S+ \S+ \S+) (.*)$/.exec(heading) ?? []
    const phrases = lines.flatMap((line) => line.split(',').map((phrase) => phrase.trim())).filter(Boolean)
    return { phase: phase as ReplyPhase, verdict, frame, phrases }
  })

const verdictOf = (phase: ReplyPhase, line: string) => {
  const { outcome, reading } = classify({ phase, reply: replyOf(line), mx: 'mx.example.net', names: NAMES })
  const reason = outcome.kind === 'bounced' ? outcome.reason : outcome.kind
  return `${reading?.subject} ${reason} ${reading?.kind ?? '-'}`
}

test.each(groups)(
  'at $phase, a reply like "$frame" is $verdict for each phrase',
  ({ phase, verdict, frame, phrases }) => {
    expect(phrases).not.toEqual([])
    const others = phrases
      .map((phrase) => ({ phrase, verdict: verdictOf(phase, frame.replace('{}', phrase)) }))
      .filter((each) => each.verdict !== verdict)
    expect(others).toEqual([])
  },
)

/** How often each item occurs. */
const counted = (items: string[]) =>
  new Map([...Map.groupBy(items, (item) => item)].map(([item, times]) => [item, times.length]))

test('a phrase decides as many of these replies as tables have it', () => {
  const replies = counted(groups.flatMap(({ phrases }) => phrases))
  const tables = globSync('mail/smtp/rules/*.ts')
  const phrases = tables.flatMap((file) => mutantsOf(file, readFileSync(file, 'utf8'), true)).filter(isPhrase)
  expect(phrases.length).toBeGreaterThan(1_500)
  const places = counted(phrases.map(({ change }) => change.replace(/\*? -> .*$/, '')))
  const missing = [...places].filter(([phrase, tables]) => tables > (replies.get(phrase) ?? 0))
  // It decides only at the exchangers of one provider.
  expect(missing).toEqual([['recipient address rejected', 1]])
})

const isPhrase = ({ operator }: Mutant) => operator === 'phrase'

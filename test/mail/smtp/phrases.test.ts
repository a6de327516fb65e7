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

test('every phrase of the tables decides one of these replies', () => {
  const known = new Set(groups.flatMap(({ phrases }) => phrases))
  const tables = globSync('mail/smtp/rules/*.ts')
  const phrases = tables.flatMap((file) => mutantsOf(file, readFileSync(file, 'utf8'), true)).filter(isPhrase)
  expect(phrases.length).toBeGreaterThan(1_500)
  const missing = phrases.map(({ change }) => change.split(' -> ')[0]!.replace(/\*$/, ''))
  // It decides only at the exchangers of one provider.
  expect(missing.filter((phrase) => !known.has(phrase))).toEqual(['recipient address rejected'])
})

const isPhrase = ({ operator }: Mutant) => operator === 'phrase'

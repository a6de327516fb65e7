import { expect, test } from 'vitest'
import { classify } from '../../../mail/smtp/classify.ts'
import { RULES } from '../../../mail/smtp/rules.ts'
import { cpuStopwatch } from '../../harness/stopwatch.ts'

const MX = 'mx.example.net'

/** Each literal run of the pattern, alone and all together, repeated: a backtracking matcher works hardest on these. */
function hostileTexts(pattern: RegExp, length: number): string[] {
  const words = pattern.source.split(/\\.|[()[\]{}?*+|^$:<!=]/).filter((word) => word.length > 1)
  return [...words, ` ${words.join(' ')} `, 'a', '1.', 'exceed size ', 'mailbox '].map((word) =>
    word.repeat(Math.ceil(length / word.length)).slice(0, length),
  )
}

test('every pattern takes linear time on hostile text', () => {
  const patterns = RULES.flatMap((rule) => [rule.text, rule.status, rule.code]).filter(
    (pattern) => pattern !== undefined,
  )
  // 300 times the longest reply: a quadratic pattern would need a minute.
  for (const pattern of new Set(patterns))
    for (const text of hostileTexts(pattern, 300_000)) {
      const watch = cpuStopwatch()
      pattern.test(text)
      expect(watch.ms(), `${pattern} on ${text.slice(0, 40)}`).toBeLessThan(1_000)
    }
})

test('classifying a reply of 1 KB of hostile text takes less than 5 ms', () => {
  const texts = RULES.flatMap((rule) => (rule.text ? hostileTexts(rule.text, 1024) : []))
  for (const text of texts) classify({ phase: 'dot', reply: { code: 550, text }, mx: MX })
  const watch = cpuStopwatch()
  for (const text of texts) classify({ phase: 'dot', reply: { code: 550, text }, mx: MX })
  expect(watch.ms() / texts.length).toBeLessThan(5)
})

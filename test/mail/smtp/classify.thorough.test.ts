import { expect, test } from 'vitest'
import { classify } from '../../../mail/smtp/classify.ts'
import { RULES } from '../../../mail/smtp/rules.ts'
import { cpuStopwatch } from '../../harness/stopwatch.ts'

const MX = 'mx.example.net'

/** Some of the pattern's words, alone and together, repeated: a backtracking matcher works hardest on these. */
function hostileTexts(pattern: RegExp, length: number): string[] {
  const words = [...new Set(pattern.source.split(/[^\p{L}]+|\b[az]\b/u))].filter((word) => word.length > 1)
  return [...words.filter((_, i) => i % 7 === 0), words.join(' '), 'a', '1.'].map((word) =>
    `${word} `.repeat(Math.ceil(length / (word.length + 1))).slice(0, length),
  )
}

test('every pattern takes linear time on hostile text', () => {
  const patterns = RULES.flatMap((rule) => [rule.text, rule.status, rule.code]).filter(
    (pattern) => pattern !== undefined,
  )
  // 64 times the longest reply: a quadratic pattern would need minutes.
  for (const pattern of new Set(patterns))
    for (const text of hostileTexts(pattern, 65_536)) {
      const watch = cpuStopwatch()
      pattern.test(text)
      // A quadratic pattern needs minutes.
      expect(watch.ms(), `${pattern.source.slice(0, 80)} on ${text.slice(0, 40)}`).toBeLessThan(1_000)
    }
})

test('classifying a reply of 1 KB of hostile text takes less than 5 ms', () => {
  const texts = RULES.flatMap((rule) => (rule.text ? hostileTexts(rule.text, 1024) : []))
  for (const text of texts) classify({ phase: 'dot', reply: { code: 550, text }, mx: MX })
  const watch = cpuStopwatch()
  for (const text of texts) classify({ phase: 'dot', reply: { code: 550, text }, mx: MX })
  // The promised time.
  expect(watch.ms() / texts.length).toBeLessThan(5)
})

const CHARACTERS = [
  'a',
  'A',
  'é',
  '猫',
  ' ',
  '.',
  '5',
  '5.',
  '@',
  'a@',
  '<',
  '>',
  '[',
  '"',
  "'",
  ':',
  '-',
  '_',
  '/',
  '\\',
  '%',
  '\u0301',
  '\u0000',
]
const PHRASES = [
  'said: 550 ',
  'http://',
  '1.2.3.4 ',
  'a.b.',
  '#5.1.1 ',
  'user ',
  'unknown ',
  'mailbox full ',
  'too many ',
  'AbCd',
  '::',
]

test.each([...CHARACTERS, ...PHRASES])('64 KB of %j are classified in linear time', (piece) => {
  const text = piece.repeat(Math.ceil(65_536 / piece.length))
  const names = { recipient: 'ann@example.net', ours: ['mail.sender.example', 'b.01@rp.sender.example'] }
  const watch = cpuStopwatch()
  for (const phase of ['rcpt', 'dot', 'late'] as const) classify({ phase, reply: { code: 550, text }, mx: MX, names })
  // A quadratic pattern takes seconds for 64 KB.
  expect(watch.ms()).toBeLessThan(300)
})

test('what a server quotes of servers that quote servers proves nothing about the recipient', () => {
  const quote = 'Verification failed for <b.01@rp.sender.example> Response: 550 5.1.1 User unknown '.repeat(40)
  const { outcome, reading } = classify({ phase: 'rcpt', reply: { code: 550, text: quote }, mx: MX })
  expect(outcome).toMatchObject({ reason: 'policy_block' })
  expect(reading!.subject).toBe('sender')
})

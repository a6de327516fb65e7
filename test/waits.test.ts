import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// A test that waits for time is slow on an idle machine and fails on a busy one. So each wait and each bar in
// milliseconds has a reason, in its name or beside it.

const WAITS = 'test/harness/waits.ts'
const OURS = 'test/waits.test.ts'

interface Line {
  where: string
  text: string
  above: string
}

const LINES: Line[] = globSync('test/**/*.ts')
  .filter((file) => file !== WAITS && file !== OURS)
  .flatMap((file) => {
    const lines = readFileSync(file, 'utf8').split('\n')
    return lines.map((text, i) => ({ where: `${file}:${i + 1}`, text: text.trim(), above: lines[i - 1]?.trim() ?? '' }))
  })

/** A wait for time: `sleep(50)`, a timer of `timers/promises`, or a timer that resolves a promise. */
const WAIT = /(?<![\w.])sleep\(|setTimeout.*timers\/promises|await setTimeout\(|\((\w+)\b.*\) => setTimeout\(\1\b/

/** Not a wait of a test: a function of a shell, and a script of a test that has no imports. */
const ELSEWHERE = ['command sleep $(', "throw new Error('stray')"]

test('a test waits for time only by a function of test/harness/waits.ts, whose name gives the reason', () => {
  const waits = LINES.filter(({ text }) => WAIT.test(text) && !ELSEWHERE.some((part) => text.includes(part)))
  expect(waits.map(({ where, text }) => `${where} ${text}`)).toEqual([])
})

/** `expect(watch.ms()).toBeLessThan(`, or with a name in milliseconds or a clock before the bar. */
const BAR = /(?:\.ms\(\)|now\(\)|\w{2,}Ms\b|\bdurationOf\().*\.toBeLess\w+\((?<bar>.*)\)/

const isComment = (text: string): boolean => text.startsWith('//') || text.startsWith('*')

test('a bar for a measured time is a named constant, or a comment beside it gives the reason', () => {
  const bare = LINES.filter(({ text, above }) => {
    const bar = text.match(BAR)?.groups?.bar
    return bar !== undefined && /\d/.test(bar) && !isComment(above) && !text.includes(' // ')
  })
  expect(bare.map(({ where, text }) => `${where} ${text}`)).toEqual([])
})

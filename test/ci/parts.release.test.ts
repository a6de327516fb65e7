import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Command } from '../../.ci/run-part.ts'
import { runParts } from '../../.ci/run-parts.ts'

let folder: string | undefined
afterEach(() => {
  if (folder) rmSync(folder, { recursive: true })
})

/** Fails in its first run and passes in every later run. */
const FLAKY = `
  const { existsSync, writeFileSync } = process.getBuiltinModule('node:fs')
  test('always passes', () => {})
  test('passes alone', () => {
    const mark = __filename + '.ran'
    const isFirst = !existsSync(mark)
    writeFileSync(mark, '')
    if (isFirst) throw new Error('the first line\\nthe second line')
  })`
const BROKEN = `test('never passes', () => { throw new Error('broken') })`
const PASSING = `test('passes', () => {})`

/** Runs parts, each a set of test files, as `.ci/run` does. */
async function run(...suites: Record<string, string>[]) {
  folder = mkdtempSync(join(tmpdir(), 'verdict-test-'))
  const parts = suites.map((files, i) => {
    const root = join(folder!, `part-${i}`)
    mkdirSync(root)
    for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content)
    return {
      name: `part-${i}`,
      command: `npx vitest run --globals --root ${root}`,
      tests: { config: root, projects: [] },
    }
  })
  return printed(parts)
}

async function printed(parts: Command[], commit?: string) {
  const text: string[] = []
  const options = { results: join(folder!, 'results'), commit, resume: true, print: (line: string) => text.push(line) }
  const ok = await runParts(parts, options)
  const lines = text.join('\n').split('\n')
  return { ok, last: lines.at(-1), flaky: lines.filter((line) => line.startsWith('FLAKY ')), text: text.join('\n') }
}

test('a file that fails and then passes alone is printed as flaky, and the run passes', async () => {
  const result = await run({ 'a.test.js': FLAKY, 'b.test.js': PASSING }, { 'c.test.js': PASSING })
  expect(result).toMatchObject({ ok: true, last: '4 passed, 0 failed' })
  expect(new Set(result.flaky)).toEqual(new Set(['FLAKY a.test.js > passes alone: the first line']))
  expect(result.text).toContain('Tests that failed and then passed alone: 1')
})

test('a file that fails again fails the run, and the parts after it still run', async () => {
  const result = await run({ 'a.test.js': BROKEN, 'b.test.js': PASSING }, { 'c.test.js': PASSING })
  expect(result).toMatchObject({ ok: false, last: '2 passed, 1 failed', flaky: [] })
})

test('a file that cannot be loaded runs again, too', async () => {
  const result = await run({ 'a.test.js': `throw new Error('not loaded')` })
  expect(result).toMatchObject({ ok: false, last: '0 passed, 1 failed' })
  expect(result.text).toContain('part-0, a.test.js alone')
})

test('at most five files of all parts run again', async () => {
  const five = Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`${n}.test.js`, FLAKY]))
  const result = await run(five, { 'sixth.test.js': FLAKY })
  expect(result).toMatchObject({ ok: false, last: '11 passed, 1 failed' })
  expect(result.text).not.toContain('sixth.test.js alone')
})

test('an error outside of any test fails the run', async () => {
  const stray = `test('passes', async () => { setTimeout(() => { throw new Error('stray') }); await new Promise((r) => setTimeout(r, 50)) })`
  expect(await run({ 'a.test.js': stray, 'b.test.js': FLAKY })).toMatchObject({ ok: false, flaky: [] })
})

test('a part that ends without a test fails the run', async () => {
  expect(await run({ 'a.test.js': '' })).toMatchObject({ ok: false, last: '0 passed, 1 failed' })
  expect(await run({})).toMatchObject({ ok: false, last: '0 passed, 1 failed' })
})

test('a part that is no run of Vitest counts as one test', async () => {
  folder = mkdtempSync(join(tmpdir(), 'verdict-test-'))
  const parts = [
    { name: 'good', command: 'true' },
    { name: 'bad', command: 'false' },
  ]
  expect(await printed(parts)).toMatchObject({ ok: false, last: '1 passed, 1 failed' })
})

test('a run resumes: what passed at the same commit is not repeated, what failed is', async () => {
  folder = mkdtempSync(join(tmpdir(), 'verdict-test-'))
  const mark = join(folder, 'mark')
  const parts = [
    { name: 'once', command: `test ! -e ${mark} && touch ${mark}` },
    { name: 'second', command: `test -e ${mark}.fixed` },
  ]
  expect(await printed(parts, 'a')).toMatchObject({ ok: false, last: '1 passed, 1 failed' })
  writeFileSync(`${mark}.fixed`, '')
  expect(await printed(parts, 'a')).toMatchObject({ ok: true, last: '2 passed, 0 failed' })
  // Another commit, and files that no commit has, say nothing about this one.
  expect(await printed(parts, 'b')).toMatchObject({ ok: false, last: '1 passed, 1 failed' })
  expect(await printed(parts)).toMatchObject({ ok: false, last: '1 passed, 1 failed' })
})

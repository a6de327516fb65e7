import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'

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

/** Runs suites, each a set of test files, as `.ci/run` does. */
function runSuites(...suites: Record<string, string>[]) {
  folder = mkdtempSync(join(tmpdir(), 'verdict-test-'))
  const commands = suites.map((files, i) => {
    const root = join(folder!, `suite-${i}`)
    mkdirSync(root)
    for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content)
    return `suite-${i}=npx vitest run --globals --root ${root}`
  })
  const { status, stdout } = spawnSync('node', ['.ci/suites.ts', ...commands], { encoding: 'utf8' })
  const lines = stdout.trimEnd().split('\n')
  return { status, last: lines.at(-1), flaky: lines.filter((line) => line.startsWith('FLAKY ')), stdout }
}

test('a file that fails and then passes alone is printed as flaky, and the run passes', () => {
  const run = runSuites({ 'a.test.js': FLAKY, 'b.test.js': PASSING }, { 'c.test.js': PASSING })
  expect(run).toMatchObject({ status: 0, last: '4 passed, 0 failed' })
  expect(new Set(run.flaky)).toEqual(new Set(['FLAKY a.test.js > passes alone: the first line']))
  expect(run.stdout).toContain('Files that failed and then passed alone: 1')
})

test('a file that fails again fails the run, and the suites after it still run', () => {
  const run = runSuites({ 'a.test.js': BROKEN, 'b.test.js': PASSING }, { 'c.test.js': PASSING })
  expect(run).toMatchObject({ status: 1, last: '2 passed, 1 failed', flaky: [] })
})

test('a file that cannot be loaded runs again, too', () => {
  const run = runSuites({ 'a.test.js': `throw new Error('not loaded')` })
  expect(run).toMatchObject({ status: 1, last: '0 passed, 1 failed' })
  expect(run.stdout).toContain('suite-0, a.test.js alone')
})

test('at most five files of all suites run again', () => {
  const five = Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`${n}.test.js`, FLAKY]))
  const run = runSuites(five, { 'sixth.test.js': FLAKY })
  expect(run).toMatchObject({ status: 1, last: '11 passed, 1 failed' })
  expect(run.stdout).not.toContain('sixth.test.js alone')
})

test('an error outside of any test fails the run', () => {
  const stray = `test('passes', async () => { setTimeout(() => { throw new Error('stray') }); await new Promise((r) => setTimeout(r, 50)) })`
  expect(runSuites({ 'a.test.js': stray, 'b.test.js': FLAKY })).toMatchObject({ status: 1, flaky: [] })
})

test('a suite that ends without a test fails the run', () => {
  expect(runSuites({ 'a.test.js': '' })).toMatchObject({ status: 1, last: '0 passed, 1 failed' })
  expect(runSuites({})).toMatchObject({ status: 1, last: '0 passed, 1 failed' })
})

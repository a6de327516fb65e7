import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../harness/until-end.ts'

// `npm run promises` finds what it is for, in every file that it is for.

const CONFIG = resolve('.oxlintrc.json')
const folder = temporaryFolder()

/** Checks a project of one file. Returns the exit code, and the rules that find something in it. */
function check(source: string) {
  const compilerOptions = { target: 'es2024', module: 'nodenext', types: [], strict: true, noEmit: true }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  writeFileSync(join(folder, 'send.ts'), source)
  const oxlint = spawnSync('oxlint', ['--config', CONFIG, '--format', 'unix'], { cwd: folder, encoding: 'utf8' })
  const rules = [...oxlint.stdout.matchAll(/\[Error\/typescript\((.+)\)\]/g)].map(([, rule]) => rule)
  return { code: oxlint.status, rules }
}

const WORK = 'declare function work(): Promise<number>; declare function later(callback: () => void): void;\n'

test.each([
  ['no-floating-promises', 'work()'],
  ['no-misused-promises', 'later(async () => { await work() })'],
  ['await-thenable', 'await 1'],
  ['return-await', 'export async function tryWork() { try { return work() } catch { return 0 } }'],
])('%s is found', (rule, fault) => {
  expect(check(`${WORK}${fault}\nexport {}`)).toEqual({ code: 1, rules: [rule] })
})

test('a promise that is awaited is no fault', () => {
  expect(check(`${WORK}await work()\nexport {}`)).toEqual({ code: 0, rules: [] })
})

test('every file is checked, apart from generated ones, the dashboard, tests and benchmarks', () => {
  const lines = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' }).split('\n')
  const checked = lines('oxlint', '--debug=files')
  const all = lines('git', 'ls-files', '*.ts', '*.tsx', '*.js', '*.mjs')
  const others = all.filter((file) => !/^(gen|client\/gen|dashboard|test|bench)\//.test(file))
  expect(others.filter((file) => !checked.includes(file))).toEqual([])
  expect(others).toContain('server/main.ts')
})

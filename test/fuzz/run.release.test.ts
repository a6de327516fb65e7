import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { TARGETS } from '../../fuzz/targets.ts'

function fuzz(args: string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, ['fuzz/run.ts', ...args], { encoding: 'utf8', env: { ...process.env, ...env } })
}

test.for(Object.keys(TARGETS))('the target %s checks inputs for a second, and its law holds', (name) => {
  const { status, stdout, stderr } = fuzz([name, '--seconds', '1'])
  expect(stdout + stderr).toMatch(/Targets: 1, inputs: [1-9][\d,]*, finds: 0, seed: \d+, time: [\d.]+ s\n$/)
  expect(status).toBe(0)
})

test('a wrong argument is refused, with the names of the targets', () => {
  for (const args of [['nope'], ['toString'], ['csv', 'csv'], ['--seconds', 'x'], ['--nope']]) {
    const { status, stderr } = fuzz(args)
    expect(status).toBe(2)
    expect(stderr).toContain(`npm run fuzz -- [${Object.keys(TARGETS).join('|')}]`)
  }
})

test('a missing program is named, and fails the run', () => {
  const { status, stderr } = fuzz(['csv', '--seconds', '1'], { PATH: '/nowhere' })
  expect(status).toBe(1)
  expect(stderr).toBe('This fuzz target needs the program python3. Install it.\n')
})

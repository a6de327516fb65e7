import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import type { MutationReport } from '../../../dev/mutation/report.ts'

async function measure(tests: string): Promise<MutationReport & { text: string }> {
  const { stdout } = await promisify(execFile)(process.execPath, ['test/dev/mutation/sample/measure.ts', tests], {
    env: { ...process.env, TEST_DATABASE_URL: inject('postgresUrl') },
  })
  return JSON.parse(stdout.split('\n').at(-2)!)
}

test('a change that a test notices is killed, and one that none notices survives', async () => {
  const { survivors, totals, classes, isBelowFloor, text } = await measure('delays-tests.ts')
  expect(survivors).toEqual([
    {
      place: 'test/dev/mutation/sample/delays.ts:5',
      operator: 'phrase',
      change: 'deferred -> xqzqx',
      verdict: 'survived',
      isReached: true,
    },
    {
      place: 'test/dev/mutation/sample/delays.ts:9',
      operator: 'comparison',
      change: 'attempt > 3 -> attempt >= 3',
      verdict: 'survived',
      isReached: true,
    },
    {
      place: 'test/dev/mutation/sample/delays.ts:28',
      operator: 'comparison',
      change: 'attempt === 6 -> attempt !== 6',
      verdict: 'survived',
      isReached: false,
    },
  ])
  expect(text).toContain('delays.ts:28 comparison: attempt === 6 -> attempt !== 6 (no test reaches it)')
  // The loop that counts the other way.
  expect(classes.find(({ operator }) => operator === 'arithmetic')).toMatchObject({ survived: 0, timedOut: 1 })
  expect(totals).toMatchObject([
    { name: 'code', survived: 2 },
    { name: 'phrases', killed: 1, survived: 1, percent: 50 },
  ])
  expect(totals[0]!.killed).toBeGreaterThan(5)
  expect(isBelowFloor).toBe(true)
})

test('tests that are red without a mutant prove nothing', async () => {
  await expect(measure('red-tests.ts')).rejects.toThrow('red-tests.ts failed without a mutant')
})

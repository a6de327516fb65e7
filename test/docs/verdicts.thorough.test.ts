import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { confusionMatrix } from '../../bench/verdicts/judge.ts'
import { judgeAll } from '../../bench/verdicts.ts'

test('the guide on replies prints the matrices of the labelled sets', async () => {
  const guide = readFileSync('docs/verdicts.md', 'utf8')
  const { replies, reports } = await judgeAll()
  expect(guide).toContain(`${replies.length.toLocaleString('en-US')} replies:\n\n${confusionMatrix(replies)}`)
  expect(guide).toContain(`${reports.length} reports:\n\n${confusionMatrix(reports)}`)
})

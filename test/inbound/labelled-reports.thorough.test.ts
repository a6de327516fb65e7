import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { allReports } from '../../bench/verdicts/all-reports.ts'
import { judgeReport } from '../../bench/verdicts/judge.ts'
import { REPORT_SPELLINGS } from './report-spellings.ts'

test('another way to write a report changes nothing about it', async () => {
  const ways = Object.entries(REPORT_SPELLINGS)
  // Each run writes each report in another way.
  const first = randomInt(ways.length)
  for (const [i, report] of allReports().entries()) {
    const { verdict, kind } = (await judgeReport(report)).got
    const [way, pack] = ways[(first + i) % ways.length]!
    const { got } = await judgeReport({ ...report, mail: pack(report.mail) })
    expect.soft({ verdict: got.verdict, kind: got.kind }, `${report.source}, ${way}`).toEqual({ verdict, kind })
  }
})

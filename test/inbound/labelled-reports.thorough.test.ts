import { expect, test } from 'vitest'
import { allReports } from '../../bench/verdicts/all-reports.ts'
import { judgeReport } from '../../bench/verdicts/judge.ts'
import { REPORT_SPELLINGS } from './report-spellings.ts'

test('another way to write a report changes nothing about it', async () => {
  for (const report of allReports()) {
    const { verdict, kind } = (await judgeReport(report)).got
    for (const [way, pack] of Object.entries(REPORT_SPELLINGS)) {
      const { got } = await judgeReport({ ...report, mail: pack(report.mail) })
      expect.soft({ verdict: got.verdict, kind: got.kind }, `${report.source}, ${way}`).toEqual({ verdict, kind })
    }
  }
})

import { atLeast, atMost, type Report } from './report.ts'
import { allReports } from './verdicts/all-reports.ts'
import {
  confusionMatrix,
  isMissed,
  isNotUnderstood,
  isRight,
  isWrongRetryable,
  isWrongSuppression,
  type Judged,
  judgeReply,
  judgeReport,
} from './verdicts/judge.ts'
import { labelledReplies, REPLIES } from './verdicts/labelled.ts'

/** The labelled sets, each with those that were written after the rules at its end. */
export async function judgeAll(): Promise<{ replies: Judged[]; reports: Judged[] }> {
  const replies = REPLIES.flatMap(labelledReplies).map(judgeReply)
  const reports: Judged[] = []
  for (const report of allReports()) reports.push(await judgeReport(report))
  return { replies, reports }
}

/** How often the service reads what mail servers write as a person does. */
export async function run(): Promise<Report> {
  const { replies, reports } = await judgeAll()
  for (const [name, judged] of [
    ['replies', replies],
    ['reports', reports],
  ] as const) {
    console.log(`\n${name}:\n${confusionMatrix(judged)}`)
    for (const { source, said, want, got } of judged.filter(
      (each) => !isRight(each) || isWrongSuppression(each) || isMissed(each),
    ))
      console.log(
        `[${source}] ${said}\n  labelled ${want.verdict} ${want.kind}, read as ${got.verdict} ${got.kind}, ${got.readAs}`,
      )
  }
  const all = [...replies, ...reports]
  const share = (judged: Judged[]) => judged.filter(isRight).length / judged.length
  return {
    figures: {
      replies: replies.length,
      reports: reports.length,
      'replies that no row but the last understood': replies.filter(isNotUnderstood).length,
      'reports that were not understood': reports.filter(isNotUnderstood).length,
    },
    bars: [
      atLeast('right verdicts on replies', share(replies), 0.99),
      atLeast('right verdicts on reports', share(reports), 0.95),
      atMost('kinds that count too much', all.filter(isWrongSuppression).length, 0),
      atMost('kinds that count too little', all.filter(isMissed).length, 0),
      atMost('wrong retryable', all.filter(isWrongRetryable).length, 0),
      atLeast('replies in the set', replies.length, 400),
      atLeast('reports in the set', reports.length, 150),
    ],
  }
}

import { expect, test } from 'vitest'
import { allReports } from '../../bench/verdicts/all-reports.ts'
import { judgeReport } from '../../bench/verdicts/judge.ts'
import { SHAPES } from '../../bench/verdicts/report-shapes.ts'
import { readReport } from '../../server/inbound/report.ts'

test.each(allReports().map((report) => [report.source, report.verdict, report] as const))(
  '%s is read as %s',
  async (_source, verdict, report) => {
    const { want, got } = await judgeReport(report)
    expect({ verdict: got.verdict, kind: got.kind }).toEqual({ verdict, kind: want.kind })
  },
)

test.each(SHAPES)('%s names the recipient', async (_, write) => {
  const report = await readReport(Buffer.from(write({ reply: '550 5.1.1 User unknown' })))
  expect(report?.kind === 'bounce' && report.failures[0]!.addresses).toContain('ann@example.net')
})

test.each(SHAPES)('%s without anything that we can read is no evidence', async (_, write) => {
  const report = await readReport(Buffer.from(write({ reply: '', words: 'It went wrong in a way of its own.' })))
  for (const { reason, readAs, detail } of report?.kind === 'bounce' ? report.failures : []) {
    // Where the shape gives a code to the words of the system, they are a reply like any other.
    if (/^5\d\d /.test(detail)) expect(readAs).toBe('sender (not understood)')
    else expect(reason).toBeUndefined()
  }
})

test('a failure notice that is not understood is unread', async () => {
  const mail =
    'From: MAILER-DAEMON@x.example\r\nSubject: Undeliverable mail\r\n\r\nSomething went wrong with ann@example.net.\r\n'
  expect(await readReport(Buffer.from(mail))).toEqual({ kind: 'unread' })
  expect(await readReport(Buffer.from(mail), { hasNullSender: false })).toMatchObject({ kind: 'none' })
})

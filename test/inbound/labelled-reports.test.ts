import { expect, test } from 'vitest'
import { heldOutReports } from '../../bench/verdicts/held-out-reports.ts'
import { judgeReport } from '../../bench/verdicts/judge.ts'
import { publicReports } from '../../bench/verdicts/public-reports.ts'
import { SHAPES } from '../../bench/verdicts/report-shapes.ts'
import { labelledReports } from '../../bench/verdicts/reports.ts'
import { readReport } from '../../server/inbound/report.ts'

const LABELLED = [...labelledReports(), ...heldOutReports(), ...publicReports()]

test.each(LABELLED.map((report) => [report.source, report.verdict, report] as const))(
  '%s is read as %s',
  async (_source, verdict, report) => {
    const { want, got } = await judgeReport(report)
    expect({ verdict: got.verdict, kind: got.kind }).toEqual({ verdict, kind: want.kind })
  },
)

/** The header and the body of a mail that is text alone; undefined for any other. */
function textOf(mail: string): [header: string, body: string] | undefined {
  const end = mail.indexOf('\r\n\r\n')
  const header = mail.slice(0, end)
  return /multipart|html/i.test(header) ? undefined : [header, mail.slice(end + 4)]
}

const FIELDS = /^(?:Final-Recipient|Action|Status|Diagnostic-Code|Content-Type|Subject|From):/gim
const toBase64 = (text: string) => Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n')

/** Other ways to write a report. */
const PACKED: [string, (mail: string) => string][] = [
  ['LF alone', (mail) => mail.replaceAll('\r\n', '\n')],
  ['spaces at the ends of lines', (mail) => mail.replace(/(?<=[a-z])\r\n/g, '  \r\n')],
  ['fields in lower case', (mail) => mail.replace(FIELDS, (field) => field.toLowerCase())],
  ['no space after a colon', (mail) => mail.replace(/^(Final-Recipient|Action|Status|Diagnostic-Code): /gm, '$1:')],
  [
    'an encoded subject',
    (mail) =>
      mail.replace(
        /^Subject: (.*?)\r$/m,
        (_, text) => `Subject: =?UTF-8?B?${Buffer.from(text).toString('base64')}?=\r`,
      ),
  ],
  ['an address in capitals', (mail) => mail.replaceAll('ann@example.net', 'Ann@EXAMPLE.net')],
  [
    'base64',
    (mail) => {
      const [header, body] = textOf(mail) ?? []
      return header === undefined
        ? mail
        : `${header}\r\nContent-Transfer-Encoding: base64\r\n\r\n${toBase64(body!)}\r\n`
    },
  ],
  [
    'a paragraph of a gateway',
    (mail) => {
      const footer = 'Scanned for viruses and spam. If you are not the intended recipient, please notify the sender.'
      return textOf(mail) ? `${mail}\r\n${footer}\r\n` : mail
    },
  ],
]

test.each(PACKED)('%s changes nothing about a report', async (_, pack) => {
  for (const report of LABELLED) {
    const { verdict, kind } = (await judgeReport(report)).got
    const { got } = await judgeReport({ ...report, mail: pack(report.mail) })
    expect({ verdict: got.verdict, kind: got.kind }, report.source).toEqual({ verdict, kind })
  }
})

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
  expect(await readReport(Buffer.from(mail), { hasNullSender: false })).toBeUndefined()
})

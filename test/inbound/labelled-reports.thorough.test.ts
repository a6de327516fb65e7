import { expect, test } from 'vitest'
import { allReports } from '../../bench/verdicts/all-reports.ts'
import { judgeReport } from '../../bench/verdicts/judge.ts'

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

test('another way to write a report changes nothing about it', async () => {
  for (const report of allReports()) {
    const { verdict, kind } = (await judgeReport(report)).got
    for (const [way, pack] of PACKED) {
      const { got } = await judgeReport({ ...report, mail: pack(report.mail) })
      expect({ verdict: got.verdict, kind: got.kind }, `${report.source}, ${way}`).toEqual({ verdict, kind })
    }
  }
})

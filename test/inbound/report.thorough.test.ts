import { expect, test } from 'vitest'
import { readReport } from '../../server/inbound/report.ts'
import { crlf, dsn } from './report-forms.ts'

const read = (mail: string) => readReport(Buffer.from(mail))

const field = (diagnostic: string) =>
  dsn({
    fields: [`Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: ${diagnostic}`],
  })

const MB = 1024 * 1024
const full = (part: string) => part.repeat(Math.floor(MB / part.length))
const BOMBS: [string, string][] = [
  ['10,000 parts', `Content-Type: multipart/mixed; boundary=b\n\n${full('--b\n\nx\n')}`],
  ['messages in messages', full('Content-Type: message/rfc822\n\n')],
  [
    'parts in parts',
    Array.from({ length: 5_000 }, (_, i) => `--b${i - 1}\nContent-Type: multipart/mixed; boundary=b${i}\n\n`).join(''),
  ],
  ['a megabyte of empty lines', `\n${full('\n')}`],
  ['a header of a megabyte', `To: ${full('a@b, ')}\n\n`],
  ['a hundred thousand headers', full('X:\n')],
  ['one line of a megabyte', `\n${full('x')}`],
  [
    'a status of 20,000 recipients',
    dsn({ fields: Array(20_000).fill('Final-Recipient: rfc822; a@b.c\nAction: failed') }),
  ],
  ['a status of one folded field', dsn({ fields: [`Diagnostic-Code: smtp; 550${full(' 5\n ')}`] })],
  ['codes upon codes', field(`smtp; ${full('550 ')}`)],
  ['20,000 failed recipients', `X-Failed-Recipients: ${full('a@b,').slice(0, 50_000)}\n\n${full('a@b\n')}`],
  ['qmail without end', `\nHi. This is the qmail-send program\n\n${full('<a@b>:\nx\n\n')}`],
  ['HTML of open tags', `From: MAILER-DAEMON@x\nSubject: failure\nContent-Type: text/html\n\n${full('<style>')}`],
  ['HTML of brackets', `From: MAILER-DAEMON@x\nSubject: failure\nContent-Type: text/html\n\n${full('<')}`],
  ['a notice of addresses', `From: MAILER-DAEMON@x\nSubject: failure\n\n${full('a@b.c ')}`],
  ['a notice of hyphens', `From: MAILER-DAEMON@x\nSubject: failure\n\n${full('-')}`],
  ['codes without end', `From: MAILER-DAEMON@x\nSubject: failure\n\n${full('said: 550 said: ')}`],
  ['boundaries in headers', `${full('Content-Type: multipart/mixed; boundary=b\n\n--b\n')}`],
  ['flowed text', `Content-Type: text/plain; format=flowed; delsp=yes\n\n${full('a \n')}`],
]

const MOST_OF_PLAIN = 10
const PLAIN = `From: ann@example.net\nSubject: hello\n\n${full('There is nothing in this mail but text.\n')}`

/** The processor time of this thread in ms. Work beside it makes a processor slower, so only ratios count. */
async function costOf(mail: string): Promise<number> {
  const before = process.threadCpuUsage()
  await read(crlf(mail).slice(0, MB))
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

test.each(BOMBS)('a mail made to take long does not: %s', async (_, mail) => {
  await costOf(PLAIN)
  const plain = await costOf(PLAIN)
  expect(await costOf(mail)).toBeLessThan(Math.max(300, MOST_OF_PLAIN * plain))
})

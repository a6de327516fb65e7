import { expect, test } from 'vitest'
import { buildMessage } from '../../mail/mime/builder.ts'
import { readMail } from '../../server/admin/mail.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { words } from '../harness/text.ts'

const built = (change: Partial<Parameters<typeof buildMessage>[0]> = {}) =>
  Buffer.concat(
    buildMessage({
      messageId: 'a@rp.example.test',
      date: new Date(0),
      from: { name: 'Ägypten "Reisen"', address: 'a@example.test', local: 'a', domain: 'example.test' },
      to: [{ address: 'ann@simulator.test', local: 'ann', domain: 'simulator.test' }],
      subject: 'Größe \u202egnp',
      text: 'Grüße\r\n',
      html: '<p>Grüße</p>',
      headers: [
        ['X-First', 'eins \u00e4'],
        ['X-Second', 'two'],
      ],
      attachments: [
        { filename: 'a\u202egnp.exe', content: Buffer.from('MZ'), contentType: 'text/html' },
        { filename: 'logo.png', content: Buffer.from('PNG'), contentId: 'logo' },
      ],
      boundarySeed: 'seed',
      ...change,
    }),
  )

test('a message is shown decoded: From, subject, headers in their order, both bodies', async () => {
  const mail = await readMail(built())
  expect(mail).toMatchObject({ subject: 'Größe \u202egnp', text: 'Grüße\r\n', html: '<p>Grüße</p>' })
  expect(mail.from).toContain('Ägypten')
  expect(mail.from).toContain('a@example.test')
  expect(mail.headers.map(({ name }) => name)).toEqual(
    words(`
    Date From To Subject Message-ID X-First X-Second MIME-Version Content-Type
  `),
  )
  expect(mail.headers.find(({ name }) => name === 'X-First')!.value).toBe('eins ä')
})

test('files have their type, size and content, and say whether they belong to the html', async () => {
  const { files } = await readMail(built())
  const shown = files.map(({ content, ...file }) => ({ ...file, content: Buffer.from(content).toString() }))
  expect(shown).toContainEqual({
    filename: 'logo.png',
    contentType: 'image/png',
    content: 'PNG',
    contentId: 'logo',
    inline: true,
  })
  expect(shown).toContainEqual({
    filename: 'agnp.exe',
    contentType: 'text/html',
    content: 'MZ',
    contentId: undefined,
    inline: false,
  })
})

test('a message without html has none, and one without text has none', async () => {
  expect((await readMail(built({ html: undefined }))).html).toBeUndefined()
  expect((await readMail(built({ text: undefined }))).text).toBeUndefined()
})

test('a file of 10 MB and a text of 100,000 lines are shown whole', async () => {
  const content = Buffer.alloc(1e7, 'abc')
  const { files } = await readMail(built({ attachments: [{ filename: 'x.bin', content }] }))
  expect(content.equals(files[0]!.content)).toBe(true)
  const { text } = await readMail(built({ html: undefined, text: 'x\r\n'.repeat(100_000) }))
  expect(text!.split('\n')).toHaveLength(100_001)
})

/** Alone on a core each of these takes about a second at most. */
const BOUND_MS = 20_000
const lines = (line: string, bytes: number) => line.repeat(Math.ceil(bytes / line.length))
const MULTIPART = 'Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'

test.each([
  ['10 MB of empty lines', `Subject: x\r\n\r\n${lines('\r\n', 1e7)}`],
  ['10 MB in one line', `Subject: x\r\n\r\n${'x'.repeat(1e7)}`],
  ['1,000 parts', `${MULTIPART}${lines('--b\r\nContent-Type: text/html\r\n\r\n<p>x\r\n', 40_000)}`],
  ['1,000 files', `${MULTIPART}${lines('--b\r\nContent-Disposition: attachment; filename=x\r\n\r\nx\r\n', 55_000)}`],
  ['10 MB of boundaries', `${MULTIPART}${lines('--b\r\n', 1e7)}`],
  ['10 MB of header', `Subject: ${lines('=?utf-8?q?=00=E2=80=AE?= ', 1e7)}\r\n\r\nx\r\n`],
  ['1 MB of encoded words', `${lines('Subject: =?utf-8?b?4oCu?=\r\n', 1e6)}\r\nx\r\n`],
  ['1 MB of address', `From: ${lines('"a(<', 1e6)}\r\n\r\nx\r\n`],
  ['nested multiparts', `${lines('Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n', 1e6)}`],
  ['nested messages', `${lines('Content-Type: message/rfc822\r\n\r\n', 1e6)}`],
  ['no header at all', '\r\n'],
  ['NUL and 8-bit octets', 'Subject: \0\x01\u009b\r\n\r\n\0\xff'],
])('%s cost bounded time', async (_, source) => {
  const watch = stopwatch()
  const mail = await readMail(Buffer.from(source, 'latin1'))
  expect(watch.ms()).toBeLessThan(BOUND_MS)
  expect(mail.headers).toBeInstanceOf(Array)
})

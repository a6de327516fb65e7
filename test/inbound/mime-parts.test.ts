import { expect, test } from 'vitest'
import { decodedTexts, readParts } from '../../server/inbound/mime-parts.ts'
import { readReport } from '../../server/inbound/report.ts'
import { words } from '../harness/text.ts'

const read = async (mail: string) => (await readParts(Buffer.from(mail)))!
const html = async (page: string) => (await read(`Content-Type: text/html; charset=utf-8\n\n${page}`)).text.trim()

test.each([
  ['<p>One</p><p>Two</p>', ['One', 'Two']],
  ['<div>One</div>Two<br>Three<br/>Four', ['One', 'Two', 'Three', 'Four']],
  ['<tr><td>One</td><td>Two</td></tr><li>Three</li><h2>Four</h2>Five', ['One', 'Two', 'Three', 'Four', 'Five']],
  ['One<style>two { three: four }</style>Five', ['One Five']],
  ['One<SCRIPT>two()</SCRIPT >Three<script>four', ['One Three']],
  ['<b>One</b><i>two</i>', ['One two']],
  ['One<styled>two</styled>three', ['One two three']],
  ['<pre>One</pre>two<brown>three', ['One two three']],
  ['Mail to <ann@example.net> failed', ['Mail to <ann@example.net> failed']],
  ['Mail to &lt;ann@example.net&gt;&nbsp;failed', ['Mail to <ann@example.net> failed']],
  ['&quot;Tom &AMP; Jerry&quot; don&#39;t, can&#X27;t', [`"Tom & Jerry" don't, can't`]],
  ['5 &euro; and &unknown; stay', ['5 &euro; and &unknown; stay']],
])('the words of the page %s are one line for each block', async (page, lines) => {
  const text = await html(page)
  const words = text
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter(Boolean)
  expect(words).toEqual(lines)
})

test('a text part is read before the HTML part', async () => {
  const part = (type: string, text: string) => `--b\nContent-Type: ${type}\n\n${text}\n`
  const mail = (plain: string) =>
    read(
      `Content-Type: multipart/alternative; boundary=b\n\n${part('text/plain', plain)}${part('text/html', '<p>page</p>')}--b--\n`,
    )
  expect((await mail('plain')).text.trim()).toBe('plain')
  expect((await mail(' ')).text.trim()).toBe('page')
})

test.each([
  ['Content-Type: multipart/mixed; boundary=b\n\nplain\n', 'plain'],
  ['Content-Type: multipart/mixed; boundary=b\n\n--other\nContent-Type: text/plain\n\nplain\n', 'plain'],
  ['Content-Type: multipart/mixed; boundary=b\n\n--other\nContent-Type: text/plain\nplain\n', ''],
  ['Content-Type: multipart/mixed; boundary=b\n\nan a--b and --\nplain\n', 'an a--b and --\nplain'],
])('of a multipart whose boundary never comes, the body is the text: %j', async (mail, text) => {
  expect((await read(mail)).text.trim()).toBe(text)
})

test('a mail of attachments alone has no text', async () => {
  const mail =
    'Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\nAction: failed\n'
  for (const end of ['--b--\n', '--b\nContent-Type: text/plain\n\n \n--b--\n'])
    expect((await read(`${mail}${end}`)).text.trim()).toBe('')
})

test('fields are decoded, and a missing one is empty', async () => {
  const { header } = await read('Subject: =?utf-8?q?Zustellung_fehlgeschlagen?=\n\nplain\n')
  expect([header('subject'), header('from')]).toEqual(['Zustellung fehlgeschlagen', ''])
})

test('copies of the message are no statements of the reporter', async () => {
  const types = words(`
    message/rfc822 message/global message/global-headers text/rfc822-headers message/delivery-status
    application/message-rfc822
  `)
  const parts = types.map((type) => `--b\nContent-Type: ${type}\n\nSubject: ${type}\n\nx\n`).join('')
  const { statements, part } = await read(
    `Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: text/plain\n\nplain\n${parts}--b--\n`,
  )
  expect(statements.map((each) => each.trim().split('\n')[0])).toEqual([
    'plain',
    'Subject: message/delivery-status',
    'Subject: application/message-rfc822',
  ])
  expect(part('message/none', 'text/rfc822-headers')).toContain('Subject: text/rfc822-headers')
  expect(part('message/none')).toBeUndefined()
})

/** A message in a message, so often, with a text in the innermost. */
const nested = (depth: number): string =>
  depth === 0
    ? 'Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\naW5uZXJtb3N0\n'
    : `Content-Type: multipart/mixed; boundary=b${depth}\n\n--b${depth}\nContent-Type: message/rfc822\n\n${nested(depth - 1)}\n--b${depth}--\n`

test.each([
  [1, true],
  [2, true],
  [3, false],
])('the texts of %i attached messages, one in the other, are decoded: %s', async (depth, isFound) => {
  const texts = await decodedTexts(Buffer.from(nested(depth)))
  expect(texts.some((text) => text.includes('innermost'))).toBe(isFound)
})

test('what is attached is a mail only where its type says so', async () => {
  const mail = nested(1).replace('message/rfc822', 'application/octet-stream')
  expect((await decodedTexts(Buffer.from(mail))).some((text) => text.includes('innermost'))).toBe(false)
})

test('the texts of a mail are its text and its page', async () => {
  const part = (type: string, text: string) => `--b\nContent-Type: ${type}\n\n${text}\n`
  const mail = `Content-Type: multipart/alternative; boundary=b\n\n${part('text/plain', 'plain')}${part('text/html', '<p>page</p>')}--b--\n`
  expect((await decodedTexts(Buffer.from(mail))).map((text) => text.trim())).toEqual(['plain', '<p>page</p>'])
})

test('a mail of parts within parts, too deep to read, has nothing to read', async () => {
  const levels = Array.from({ length: 15 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\n\n--b${i}\n`)
  const mail = Buffer.from(`${levels.join('')}Content-Type: text/plain\n\nplain\n`)
  expect(await decodedTexts(mail)).toEqual([])
  expect(await readParts(mail)).toBeUndefined()
  expect(await readReport(mail)).toEqual({ kind: 'none', why: 'it cannot be read as mail' })
})

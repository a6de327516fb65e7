import { expect, test } from 'vitest'
import { decodedTexts, isSmall, readParts } from '../../server/inbound/mime-parts.ts'

const read = async (mail: string) => (await readParts(Buffer.from(mail)))!
const html = async (page: string) => (await read(`Content-Type: text/html; charset=utf-8\n\n${page}`)).text.trim()

test.each([
  ['<p>One</p><p>Two</p>', ['One', 'Two']],
  ['<div>One</div>Two<br>Three<br/>Four', ['One', 'Two', 'Three', 'Four']],
  ['<tr><td>One</td><td>Two</td></tr><li>Three</li><h2>Four</h2>Five', ['One', 'Two', 'Three', 'Four', 'Five']],
  ['One<style>two { three: four }</style>Five', ['One Five']],
  ['One<SCRIPT>two()</SCRIPT >Three<script>four', ['One Three']],
  ['<b>One</b><i>two</i>', ['One two']],
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
  ['Content-Type: multipart/mixed; boundary=b\n\nan a--b and --\nplain\n', 'an a--b and --\nplain'],
])('of a multipart whose boundary never comes, the body is the text: %j', async (mail, text) => {
  expect((await read(mail)).text.trim()).toBe(text)
})

test('fields are decoded, and a missing one is empty', async () => {
  const { header } = await read('Subject: =?utf-8?q?Zustellung_fehlgeschlagen?=\n\nplain\n')
  expect([header('subject'), header('from')]).toEqual(['Zustellung fehlgeschlagen', ''])
})

test('copies of the message are no statements of the reporter', async () => {
  const types = [
    'message/rfc822',
    'message/global',
    'message/global-headers',
    'text/rfc822-headers',
    'message/delivery-status',
    'application/message-rfc822',
  ]
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

test('a mail of much text or many lines is none that the event loop reads', () => {
  const lines = (count: number) => Buffer.from('x\n'.repeat(count))
  expect([lines(398), lines(399), lines(2_000)].map(isSmall)).toEqual([true, false, false])
  expect([16 * 1024, 16 * 1024 + 1].map((length) => isSmall(Buffer.alloc(length, 'x')))).toEqual([true, false])
})

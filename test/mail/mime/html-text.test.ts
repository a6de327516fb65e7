import fc from 'fast-check'
import { expect, test } from 'vitest'
import { textOfHtml } from '../../../mail/mime/html-text.ts'
import { cpuStopwatch } from '../../harness/stopwatch.ts'

test('paragraphs, headings, lists, tables, links and images keep their form', () => {
  const html = `<html><head><title>No</title><style>p { color: red }</style></head><body>
    <h1>Your&nbsp;order &amp; more</h1><p>Track it <a href="https://shop.example/t?a=1&amp;b=2">here</a>.</p>
    <ul><li>one</li><li>two</ul><table><tr><td>Sum</td><td>7 &euro;</td></tr><tr><td>Tax</td></tr></table>
    <p>Bye<br>Ann <img src="cid:logo" alt="Logo"></p><!-- <p>hidden</p> --><script>"</p>"</script></body></html>`
  expect(textOfHtml(html)).toBe(
    [
      ...['Your order & more', '', 'Track it here <https://shop.example/t?a=1&b=2>.', ''],
      ...['- one', '- two', '', 'Sum 7 €', 'Tax', '', 'Bye', 'Ann Logo', ''],
    ].join('\n'),
  )
})

test('a link whose text is its target is written once, and other schemes are not', () => {
  expect(textOfHtml('<a href="https://a.example">https://a.example</a> <a href="mailto:a@b.c">mail</a>')).toBe(
    'https://a.example mail\n',
  )
})

test('text that only looks like HTML stays', () => {
  expect(textOfHtml('1 < 2 &unknown; &#0; &#x1F600;')).toBe('1 < 2 &unknown; 😀\n')
})

test('any HTML gives well-formed text without control characters', () => {
  const pieces = fc.constantFrom(
    '<',
    '>',
    '<a href="',
    '"',
    '&#',
    ';',
    '<!--',
    '-->',
    '<script>',
    '</',
    'p',
    ' ',
    'é',
    '&#55296;',
    '&#7;',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (list) => {
      const text = textOfHtml(list.join(''))
      expect(text.isWellFormed()).toBe(true)
      expect(text).not.toMatch(/(?!\n)\p{Cc}/u)
    }),
  )
})

test('half a MiB of any tags take linear time', () => {
  for (const piece of ['<', '<a href="', '<!--', '<style>', '<a href="x>', '&#', '<p>', '</style']) {
    const watch = cpuStopwatch()
    textOfHtml(piece.repeat(2 ** 19 / piece.length))
    // A quadratic reader takes minutes.
    expect(watch.ms()).toBeLessThan(5_000)
  }
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frameHtml } from '../../server/admin/frame-html.ts'
import { cpuStopwatch } from '../harness/stopwatch.ts'

const PNG = { contentId: 'logo@x', contentType: 'image/png', content: Buffer.from('PNG') }
const DATA = 'data:image/png;base64,UE5H'
const BASE = '<base target="_blank">'

test('a page keeps its doctype, which decides how it is laid out', () => {
  expect(frameHtml('\r\n<!DOCTYPE html PUBLIC "x">\n<p>Hello')).toBe(`\r\n<!DOCTYPE html PUBLIC "x">${BASE}\n<p>Hello`)
  expect(frameHtml('<p>Hello')).toBe(`${BASE}<p>Hello`)
})

test.each([
  ['<base href="https://evil.test/" target="_top">', '<bgsound href="#https://evil.test/" target="_top">'],
  ['<META http-equiv=refresh content="0;url=https://evil.test">', '<bgsound http-equiv=refresh'],
  ['<meta/name=referrer content=unsafe-url>', '<bgsound/name=referrer'],
  ['<link\nrel=preconnect href=https://evil.test>', '<bgsound\nrel=preconnect'],
])('%s has no effect', (element, becomes) => {
  const html = frameHtml(element)
  expect(html).toContain(becomes)
  expect(html.slice(BASE.length)).not.toMatch(/<(base|link|meta)[\s/>]/i)
})

test('elements whose names only begin so stay', () => {
  expect(frameHtml('<basefont><metadata><links>')).toBe(`${BASE}<basefont><metadata><links>`)
})

test.each([
  ['<a href="https://evil.test" target=_top>', '<a href="#https://evil.test" target=_top>'],
  [`<AREA HREF = 'https://evil.test'>`, `<AREA HREF = '#https://evil.test'>`],
  ['<a target=_self href=//evil.test>', '<a target=_self href=#//evil.test>'],
  ['<a title="x"href\n=\f"&#104;ttps://evil.test">', '<a title="x"href\n=\f"#&#104;ttps://evil.test">'],
  ['<svg><a xlink:href="https://evil.test">', '<svg><a xlink:href="#https://evil.test">'],
  ['<math href="https://evil.test">', '<math href="#https://evil.test">'],
  ['<a href="javascript:alert(1)">', '<a href="#javascript:alert(1)">'],
  ['<a href=>', '<a href=#>'],
  ['<a href="#top"><a href=#top>', '<a href="#top"><a href=#top>'],
  ['<animate attributeName=href to="https://evil.test">', '<animate x-attributeName=href to="https://evil.test">'],
  [`<iframe SRCDOC='<a href="//evil.test">'>`, `<iframe x-SRCDOC='<a href="#//evil.test">'>`],
])('%s leads nowhere', (html, shown) => {
  expect(frameHtml(html)).toBe(BASE + shown)
})

test('the words href and srcdoc in a text stay', () => {
  expect(frameHtml('<p>The href of a link, a[href], srcdoc')).toBe(`${BASE}<p>The href of a link, a[href], srcdoc`)
})

test('an image whose data ends like the name of an attribute makes no link', () => {
  const image = { ...PNG, content: Buffer.from('AAA/href', 'base64') }
  const html = frameHtml('<a =cid:logo@x =https://evil.test target=_self>', [image])
  expect(html).toContain('base64,AAA/href =#https')
})

test.each([
  ['<img src="cid:logo@x">', `<img src="${DATA}">`],
  ["<img src='CID:logo%40x'>", `<img src='${DATA}'>`],
  ['<img src=cid:logo@x>', `<img src=${DATA}>`],
  ['<td style="background:url( cid:logo@x )">', `<td style="background:url( ${DATA} )">`],
])('%s shows the image of that Content-ID', (html, shown) => {
  expect(frameHtml(html, [PNG])).toBe(BASE + shown)
})

test('text that looks like such an image, unknown ids and broken encodings stay as they are', () => {
  const html = 'cid:logo@x <img src="cid:other"><img src="cid:%E0%A4%A">'
  expect(frameHtml(html, [PNG])).toBe(BASE + html)
})

test.each(['image/svg+xml', 'text/html', 'application/octet-stream', 'image/png;x="'])(
  '%s is never shown',
  (contentType) => {
    const html = '<img src="cid:logo@x">'
    expect(frameHtml(html, [{ ...PNG, contentType }])).toBe(BASE + html)
  },
)

test('an image that is repeated without end stops at 16 MiB', () => {
  const image = { ...PNG, content: Buffer.alloc(2 ** 20) }
  const watch = cpuStopwatch()
  const html = frameHtml('<img src="cid:logo@x">'.repeat(90_000), [image])
  expect(html.length).toBeLessThan(20 * 2 ** 20)
  expect(html.match(/data:/g)!.length).toBeGreaterThan(5)
  // A quadratic search takes minutes.
  expect(watch.ms()).toBeLessThan(20_000)
})

test('2 MiB of what it looks for cost bounded time', () => {
  const watch = cpuStopwatch()
  for (const part of ['<meta "', '<!doctype ', '"cid:', '=cid:a', ' \n', '<link', "='", 'href ', 'srcdoc']) {
    frameHtml(part.repeat(2 ** 21 / part.length), [PNG])
  }
  // A quadratic search takes minutes.
  expect(watch.ms()).toBeLessThan(20_000)
})

test('whatever the html, no element of the head is left but ours, and each link is a fragment', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '<a',
      'hr',
      'ef',
      'href',
      '=',
      '\n',
      "'",
      '#',
      'srcdoc',
      '<base',
      '<meta',
      '<LINK',
      '<',
      'li',
      'nk',
      '>',
      ' ',
      '/',
      '\0',
      '<!doctype',
      '"',
      'cid:logo@x',
    ),
    fc.string({ maxLength: 3 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const html = frameHtml(pieces.join(''), [PNG])
      expect(html.match(/<(base|link|meta)(?=[\s/>])/gi)).toEqual(['<base'])
      for (const [, value] of html.matchAll(/href\s*=\s*["']?(.?)/gis)) expect(value).toBe('#')
      expect(html).not.toMatch(/(?<!x-)srcdoc\s*=/i)
    }),
  )
})

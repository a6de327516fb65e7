import { createServer } from 'node:http'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { frameHtml } from '../../../server/admin/frame-html.ts'
import { framePaths } from '../../../server/admin/frames.ts'
import { createFastify } from '../../../server/http/fastify.ts'
import { frameRoutes } from '../../../server/http/site/frame-routes.ts'
import { listenUntilEnd, untilEnd } from '../../harness/until-end.ts'
import { startBrowser } from './browser.ts'

// Hostile html in Chromium, in a frame of the dashboard that is opened by itself.

const requests: string[] = []
const elsewhere = createServer(({ url }, response) => {
  requests.push(url!)
  response.end('elsewhere')
})
const records = { log: pino({ level: 'silent' }), inFlight: new Set<never>(), ended: () => {} }
const fastify = untilEnd(createFastify({ trustProxy: [], records, visit: async () => {} }))
const png = { contentId: 'x', contentType: 'image/png', content: Buffer.from('AAA/href', 'base64') }

const evil = `http://127.0.0.1:${await listenUntilEnd(elsewhere)}`
const nothing = async () => undefined
frameRoutes(fastify, {
  gate: async () => ({ accountId: 'uuid', test: false }),
  frames: framePaths({
    storedHtml: async (_, id) => frameHtml(HOSTILE[Number(id)]!.replaceAll('EVIL', evil), [png]),
    inboxHtml: nothing,
    inboxFile: nothing,
    inboxSource: nothing,
  }),
})
const origin = await fastify.listen({ host: '127.0.0.1', port: 0 })
const testBrowser = untilEnd(await startBrowser())

/** In each of them a click on `#x` would lead to EVIL, if the frame let it. */
const HOSTILE = [
  ...['_self', '_top', '_parent', '_blank', 'other', ''].map(
    (target) => `<a id=x href=EVIL target=${target}>link</a><a href="EVIL/ping" ping="EVIL/ping">ping</a>`,
  ),
  '<base href="EVIL/" target=_self><a id=x href=page>link</a>',
  '<a title="x"href\n=\n" EVIL" target=_self id=x>link</a>',
  '<a id="x"/href=EVIL target=_self>link</a>',
  '<a id=x =cid:x =EVIL target=_self>link</a>',
  '<area href=EVIL target=_self shape=default><map name=m><area href=EVIL target=_self shape=default></map>' +
    '<img id=x usemap=#m alt=link width=50 height=50>',
  '<svg id=x width=50 height=50><a xlink:href=EVIL target=_self><rect width=50 height=50 /></a></svg>',
  '<svg id=x width=50 height=50><a target=_self><animate attributeName=href values="EVIL;EVIL" dur=1s repeatCount=indefinite />' +
    '<set attributeName="xlink:href" to=EVIL /><rect width=50 height=50 /></a></svg>',
  '<math href=EVIL id=x><mi>link</mi></math>',
  '<form action=EVIL target=_self><button id=x>send</button></form>',
  '<form><input type=image src=x alt=send id=x formaction=EVIL></form>',
  '<button id=x form=f formaction=EVIL>send</button><form id=f></form>',
  '<meta http-equiv=refresh content="0;url=EVIL"><p id=x>text',
  '<svg><meta http-equiv=refresh content="0;url=EVIL"></svg><p id=x>text',
  '<link rel=prefetch href=EVIL><link rel=stylesheet href=EVIL><p id=x>text',
  '<iframe id=x srcdoc="<a &#104;ref=EVIL target=_top style=position:fixed;inset:0>link</a>"></iframe>',
  '<iframe id=x src=EVIL></iframe><object data=EVIL></object><embed src=EVIL>',
  '<a id=x href="javascript:location=\'EVIL\'" target=_self>link</a>',
  '<template shadowrootmode=open></template><div><template shadowrootmode=open><a href=EVIL target=_self>link</a></template></div><p id=x>text',
]

test('a click, whatever the html, neither leaves the page nor opens another one nor sends a request elsewhere', async () => {
  const { context } = await testBrowser.context(origin)
  const page = await context.newPage()
  const left: string[] = []
  context.on('page', (other) => left.push(`a page of ${other.url()}`))
  context.on('request', (request) => void (request.url().startsWith(evil) && left.push(request.url())))
  page.on('framenavigated', (frame) => {
    if (frame === page.mainFrame() && !frame.url().startsWith(origin)) left.push(frame.url())
  })
  for (const [index, html] of HOSTILE.entries()) {
    const url = `${origin}/dashboard/frame/messages/acc/${index}`
    await page.goto(url)
    await page
      .locator('#x')
      .first()
      .click({ position: { x: 5, y: 5 }, force: true })
    // A page that the click leads to would be on its way before this one.
    await page.goto(`${url}?after`).catch((error) => left.push(error.message))
    expect({ html, left: [...left, ...requests] }).toEqual({ html, left: [] })
  }
})

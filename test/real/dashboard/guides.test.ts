import Fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { guidesPages } from '../../../server/http/site/guides-pages.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { axeFindings, startBrowser, type TestBrowser } from './browser.ts'

// The page at `/`, the guides and the reference of the API, as `npm run build` rendered them.

const PAGES = ['/', '/guides/', '/guides/quickstart', '/guides/verdicts', '/guides/reference/']
/** Those with every kind of part. The last one is the longest. */
const REFERENCE = ['emails', 'payloads', 'schemas']
let browser: TestBrowser
let url: string
const fastify = Fastify()
beforeAll(async () => {
  guidesPages(fastify, { visit: async () => {} })
  url = await fastify.listen({ host: '127.0.0.1', port: 0 })
  browser = untilEnd(await startBrowser())
})
afterAll(() => fastify.close())

test.for([1280, 360])(
  'axe finds nothing on the pages for everybody at %i pixels, nor is one too wide',
  async (width) => {
    const { context, faults } = await browser.context(url, { viewport: { width, height: 900 } })
    const page = await context.newPage()
    const findings: string[] = []
    for (const path of [...PAGES, ...REFERENCE.map((name) => `/guides/reference/${name}`)]) {
      await page.goto(url + path)
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      if (Number(overflow) > 0) findings.push(`${path} is ${overflow} pixels too wide`)
      findings.push(...(await axeFindings(page, '')).map((finding) => `${path}: ${finding}`))
    }
    await context.close()
    expect([...findings, ...faults]).toEqual([])
  },
)

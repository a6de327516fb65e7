import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { BrowserContext, Page } from 'playwright-core'
import { loaded, OBSERVE_SHIFT, startBrowser } from '../test/real/dashboard/browser.ts'
import { signIn } from '../test/real/dashboard/owner.ts'
import { fill } from './lists.ts'
import { untilCalm } from './load/cpu.ts'
import { startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { atMost, median, type Report, type RunOptions } from './report.ts'

const MESSAGES = 1_000_000
const LOADS = 5
const NEXT_PAGES = 10
const MOST_PAINT_MS = 1_000
const MOST_SHIFT = 0.05
const MOST_LIST_MS = 300
const MOST_KB = 200
const CALM_WITHIN_MS = 2_000
const OWNER = { email: 'owner@example.test', password: 'correct horse battery' }
const DASHBOARD = new URL('../dashboard/dist/', import.meta.url)

/** Runs in the page before its own scripts: the largest paint so far. */
const OBSERVE_PAINT = `
  window.paintMs = 0
  new PerformanceObserver((list) => list.getEntries().forEach(({ startTime }) => { window.paintMs = startTime }))
    .observe({ type: 'largest-contentful-paint', buffered: true })`

/**
 * The main pages of an account with a month of history, in Chromium over loopback: when each has painted what it shows,
 * how much its layout moves, and how long its list of messages waits for a page. `size` is the number of messages.
 */
export async function run({ size = MESSAGES }: RunOptions): Promise<Report> {
  await using sink = await startSink()
  const env = { ADMIN_EMAIL: OWNER.email, ADMIN_PASSWORD: OWNER.password }
  await using product = await startProduct(sink, { env })
  await fill(product, size)
  await using browser = await startBrowser()
  const origin = `http://127.0.0.1:${product.port}`
  const { context } = await browser.context(origin)
  await context.addInitScript(OBSERVE_PAINT)
  await context.addInitScript(OBSERVE_SHIFT)
  const page = await context.newPage()
  await page.goto(`${origin}/dashboard/sign-in`)
  const account = await signIn(page, OWNER)
  const base = `${origin}/dashboard/${account}`
  const { firstMs, nextMs, message } = await measureList(page, `${base}/messages`)
  const pages = { Overview: '', Messages: '/messages', Message: `/messages/${message}`, Events: '/events' }

  const kilobytes = initialBytes() / 1_000
  const figures: Report['figures'] = { 'initial JavaScript, gzip, KB': kilobytes }
  const bars = [atMost('initial JavaScript, gzip, KB', kilobytes, MOST_KB)]
  for (const [name, path] of Object.entries(pages)) {
    const { paintMs, shift } = await measurePaint(context, `${base}${path}`)
    figures[`${name}, largest contentful paint ms`] = paintMs
    figures[`${name}, layout shift`] = shift
    bars.push(atMost(`${name}, largest contentful paint ms`, paintMs, MOST_PAINT_MS))
    bars.push(atMost(`${name}, layout shift`, shift, MOST_SHIFT))
  }
  for (const [name, value] of Object.entries({ 'first page ms': firstMs, 'next page ms': nextMs })) {
    figures[`messages, ${name}`] = value
    bars.push(atMost(`messages, ${name}`, value, MOST_LIST_MS))
  }
  return { figures, bars }
}

/** The scripts that index.html names, each compressed. The others are loaded when a page needs them. */
function initialBytes(): number {
  const index = readFileSync(new URL('index.html', DASHBOARD), 'utf8')
  const scripts = [...index.matchAll(/"\/dashboard\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path!)
  return scripts.reduce((sum, path) => sum + gzipSync(readFileSync(new URL(path, DASHBOARD))).length, 0)
}

/** Medians over some loads in new tabs. Files are in the browser's cache after the first. */
async function measurePaint(context: BrowserContext, url: string): Promise<{ paintMs: number; shift: number }> {
  const paints: number[] = []
  const shifts: number[] = []
  for (let load = 0; load < LOADS; load++) {
    const page = await context.newPage()
    await untilCalm(CALM_WITHIN_MS)
    await page.goto(url)
    await loaded(page)
    await page.waitForLoadState('networkidle')
    const [paintMs, shift] = await page.evaluate<[number, number]>('[window.paintMs, window.shift]')
    paints.push(paintMs)
    shifts.push(shift)
    await page.close()
  }
  return { paintMs: median(paints), shift: Math.max(...shifts) }
}

/** How long the calls for the pages of the list take in the browser, and the id of its first message. */
async function measureList(page: Page, url: string) {
  const call = () => page.waitForResponse((response) => response.url().endsWith('/ListEmails'))
  const lengthOf = async (response: Awaited<ReturnType<typeof call>>) => {
    await response.finished()
    return response.request().timing().responseEnd
  }
  const first: number[] = []
  for (let load = 0; load < LOADS; load++) {
    const [response] = await Promise.all([call(), page.goto(url)])
    first.push(await lengthOf(response))
    await loaded(page)
  }
  const next: number[] = []
  for (let at = 0; at < NEXT_PAGES; at++) {
    const [response] = await Promise.all([call(), page.getByRole('button', { name: 'Load more' }).click()])
    next.push(await lengthOf(response))
  }
  const link = await page.locator('a[data-row-link]').first().getAttribute('href')
  return { firstMs: median(first), nextMs: median(next), message: link!.split('/').at(-1)! }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Request } from 'playwright-core'
import { loaded, startBrowser } from '../test/real/dashboard/browser.ts'
import { signIn } from '../test/real/dashboard/owner.ts'
import { fill } from './lists.ts'
import { measure } from './load/cpu.ts'
import { configure } from './load/endpoints.ts'
import { startHttpLoad } from './load/http.ts'
import { type Product, startProduct } from './load/product.ts'
import { startReceiver } from './load/receiver.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { type RecordedCall, startTabs, type Tape } from './load/tabs.ts'
import { figuresOf, playPairs, ratio, round } from './pairs.ts'
import { atLeast, type Report, type RunOptions } from './report.ts'

const MESSAGES = 100_000
const OWNER = { email: 'owner@example.test', password: 'correct horse battery' }
/** The longest time between two calls of a page: a recording holds each of them at least once. */
const RECORDED_MS = 60_000
/** The number of emails sent while the tabs are recorded, so that their lists have news. */
const RECORDED_SENDS = 1_000
const WARM_UP_SENDS = 5_000
const SENDS = 10_000
const IN_FLIGHT = 64
const ROUNDS = 12

/** The pages that the tabs show. */
const TABS = [
  '',
  '?range=30d',
  '/messages',
  '/messages',
  '/messages?status=bounced',
  '/messages?sandbox=false',
  '/events',
  '/events',
  '/events?status=bounced',
  '/messages/:message',
]

/**
 * Sends while ten tabs show live lists, against sends without them. The calls of the tabs are recorded once in Chromium
 * and then repeated at the same pace with the same headers, because a browser on the machine of the server would take
 * more of its processors than the calls do. No tab is in the background, where a page would make no calls.
 */
export async function run({ size = MESSAGES }: RunOptions): Promise<Report> {
  await using sink = await startSink()
  await using receiver = await startReceiver()
  const env = { ADMIN_EMAIL: OWNER.email, ADMIN_PASSWORD: OWNER.password }
  await using product = await startProduct(sink, { env })
  await fill(product, size)
  await configure(product, 'PUT', receiver.url('bench'))
  await using http = await startHttpLoad()
  const sends = async (requests: number) =>
    void expectDelivered(await http.ask(sendRun(product, { connections: IN_FLIGHT, requests })))

  await sends(WARM_UP_SENDS)
  const tape = await record(product, () => sends(RECORDED_SENDS))
  await using tabs = await startTabs()
  await tabs.ask(tape)
  const alone = await measure([[product.apiPid, product.postgresPid]], async () => {
    await tabs.ask('play')
    await sleep(RECORDED_MS)
    await tabs.ask('pause')
  })
  const measureSends = () => round([product.apiPid, product.postgresPid], SENDS, () => sends(SENDS))
  let [calls, bytes] = [0, 0]
  const pairs = await playPairs(
    async () => {
      await tabs.ask('play')
      const result = await measureSends()
      const played = await tabs.ask('pause')
      calls += played.calls
      bytes += played.bytes
      return result
    },
    measureSends,
    'without tabs',
    ROUNDS,
  )
  const callsPerSecond = (tape.calls.length * 1_000) / tape.lengthMs
  return {
    figures: {
      ...figuresOf(
        'with ten tabs:',
        pairs.map(({ ours }) => ours),
      ),
      ...figuresOf(
        'without:',
        pairs.map(({ theirs }) => theirs),
      ),
      'calls/s of the tabs': callsPerSecond,
      'CPU ms per second of the tabs alone': (alone.cpu[0]! * 1_000) / alone.seconds,
      'KB per response': bytes / calls / 1_000,
    },
    bars: [atLeast('sends/s with ten tabs relative to those without', ratio(pairs, 'perSecond'), 0.95)],
  }
}

/** Records the calls of ten tabs, once each has loaded, while `work` gives their lists news. */
async function record(product: Product, work: () => Promise<void>): Promise<Tape> {
  await using browser = await startBrowser()
  const origin = `http://127.0.0.1:${product.port}`
  const { context } = await browser.context(origin)
  const first = await context.newPage()
  await first.goto(`${origin}/dashboard/sign-in`)
  const base = `${origin}/dashboard/${await signIn(first, OWNER)}`
  await first.goto(`${base}/messages`)
  await loaded(first)
  const message = (await first.locator('a[data-row-link]').first().getAttribute('href'))!.split('/').at(-1)!
  await first.close()
  const recorded: Promise<RecordedCall>[] = []
  let startedMs = Number.POSITIVE_INFINITY
  for (const [tab, path] of TABS.entries()) {
    const page = await context.newPage()
    page.on('request', (request) => {
      const atMs = performance.now() - startedMs
      if (request.method() === 'POST' && atMs >= 0 && atMs < RECORDED_MS) recorded.push(callOf(request, tab, atMs))
    })
    await page.goto(base + path.replace(':message', message))
    await loaded(page)
  }
  startedMs = performance.now()
  await Promise.all([work(), sleep(RECORDED_MS)])
  const calls = (await Promise.all(recorded)).sort((a, b) => a.atMs - b.atMs)
  expectCalls(calls)
  // The browser never tells the cookie of a call that its page has given up.
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  for (const { headers } of calls) headers.cookie ??= cookie
  return { port: product.port, lengthMs: RECORDED_MS, calls }
}

async function callOf(request: Request, tab: number, atMs: number): Promise<RecordedCall> {
  const { pathname } = new URL(request.url())
  return { tab, atMs, path: pathname, headers: await request.allHeaders(), body: request.postData() ?? '' }
}

/** Throws when a tab made no call: it would not be live. */
function expectCalls(calls: RecordedCall[]): void {
  const perPath = Map.groupBy(calls, ({ path }) => path.split('.').at(-1)!)
  for (const [path, { length }] of perPath) console.log(`${path}: ${length} calls in ${RECORDED_MS / 1_000} s`)
  const silent = TABS.filter((_, tab) => !calls.some((call) => call.tab === tab))
  if (silent.length > 0) throw new Error(`These pages made no call: ${silent.join(', ')}`)
}

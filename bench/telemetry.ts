import { startHttpLoad } from './load/http.ts'
import { type Product, startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { figuresOf, playPairs, ratio, round } from './pairs.ts'
import { atLeast, median, type Report, type RunOptions } from './report.ts'

const IN_FLIGHT = 64
const MESSAGES = 4_000
const WARM_UP_MESSAGES = 4_000
/** Many rounds, because the difference is small. */
const ROUNDS = 12
const BYTES = 4_000
const SCRAPE_EVERY_MS = 1_000

/** Sends while metrics are scraped every second, against sends of the same process without a scrape. */
export async function run({ peer }: RunOptions): Promise<Report> {
  if (peer) console.log('This bench has no peer.')
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const sends = (requests: number) =>
    round([product.apiPid, product.postgresPid], requests, async () => {
      expectDelivered(await http.ask(sendRun(product, { bytes: BYTES, connections: IN_FLIGHT, requests })))
    })
  const scrapesMs: number[] = []
  const scraped = async () => {
    await using _scrapes = scrapeEverySecond(product, scrapesMs)
    return sends(MESSAGES)
  }

  await sends(WARM_UP_MESSAGES)
  await scraped()
  scrapesMs.length = 0
  const pairs = await playPairs(scraped, () => sends(MESSAGES), 'without a scrape', ROUNDS)
  const of = (side: 'ours' | 'theirs') => pairs.map((pair) => pair[side])
  return {
    figures: {
      ...figuresOf('with a scrape a second:', of('ours')),
      ...figuresOf('without:', of('theirs')),
      'CPU per message relative to without': ratio(pairs, 'cpuMicros'),
      'a scrape, p50 ms': median(scrapesMs),
    },
    bars: [atLeast('sends/s with a scrape a second relative to those without', ratio(pairs, 'perSecond'), 0.97)],
  }
}

/** Scrapes at once and then every second, until disposed of. Adds the time of each scrape to `scrapesMs`. */
function scrapeEverySecond({ metricsUrl }: Product, scrapesMs: number[]): AsyncDisposable {
  const running = new Set<Promise<void>>()
  const scrape = async () => {
    const startedMs = performance.now()
    const response = await fetch(metricsUrl)
    const text = await response.text()
    if (!text.includes('verdict_recipients_total{')) throw new Error(`no metrics: ${response.status}`)
    scrapesMs.push(performance.now() - startedMs)
  }
  const begin = () => {
    const one = scrape().finally(() => running.delete(one))
    running.add(one)
  }
  begin()
  const timer = setInterval(begin, SCRAPE_EVERY_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await Promise.all(running)
    },
  }
}

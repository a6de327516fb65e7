import { startCollector } from './load/collector.ts'
import { startHttpLoad } from './load/http.ts'
import { type Product, startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { figuresOf, playPairs, type Round, ratio, round } from './pairs.ts'
import { atLeast, median, type Report } from './report.ts'

const IN_FLIGHT = 64
const MESSAGES = 4_000
const WARM_UP_MESSAGES = 4_000
/** Many rounds, because the difference is small. */
const ROUNDS = 12
const ROUNDS_WITH_ALL_TRACES = 3
const SCRAPE_EVERY_MS = 1_000

/** Sends of a process that is scraped every second and traces 1 % of them, against one that does neither. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using collector = await startCollector()
  await using http = await startHttpLoad()
  const startTraced = (share: string) =>
    startProduct(sink, {
      env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`, OTEL_TRACES_SAMPLER_ARG: share },
    })
  await using unobserved = await startProduct(sink)
  await using observed = await startTraced('0.01')
  await using traced = await startTraced('1')

  const sends = (product: Product, requests = MESSAGES): Promise<Round> =>
    round([product.apiPid, product.postgresPid], requests, async () => {
      expectDelivered(await http.ask(sendRun(product, { connections: IN_FLIGHT, requests })))
    })
  const scrapesMs: number[] = []
  const observedSends = async () => {
    await using _scrapes = scrapeEverySecond(observed, scrapesMs)
    return sends(observed)
  }

  for (const product of [unobserved, observed, traced]) await sends(product, WARM_UP_MESSAGES)
  await observedSends()
  scrapesMs.length = 0
  const pairs = await playPairs(observedSends, () => sends(unobserved), 'without', ROUNDS)
  const allTraced = await playPairs(
    () => sends(traced),
    () => sends(unobserved),
    'without',
    ROUNDS_WITH_ALL_TRACES,
  )
  if ((await collector.octets()) === 0) throw new Error('No trace was exported: this measured nothing.')
  const of = (side: 'ours' | 'theirs') => pairs.map((pair) => pair[side])
  return {
    figures: {
      ...figuresOf('scraped, 1 % traced:', of('ours')),
      ...figuresOf('without:', of('theirs')),
      'CPU per message relative to without': ratio(pairs, 'cpuMicros'),
      'a scrape, p50 ms': median(scrapesMs),
      'sends/s with every send traced relative to without': ratio(allTraced, 'perSecond'),
    },
    bars: [atLeast('sends/s scraped and 1 % traced relative to those without', ratio(pairs, 'perSecond'), 0.97)],
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

import { startCollector } from './load/collector.ts'
import { measure } from './load/cpu.ts'
import { startHttpLoad } from './load/http.ts'
import { type Product, startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { figuresOf, playPairs, type Round, ratio, roundOf } from './pairs.ts'
import { atLeast, type Report } from './report.ts'

const MESSAGES = 3_000
/** The difference is small: it takes more rounds to show above the noise. */
const ROUNDS = 9

/** Whole sends with traces against without: 1 % of them recorded, and all of them. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using collector = await startCollector()
  await using http = await startHttpLoad()
  const traced = (share: string) => ({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_TRACES_SAMPLER_ARG: share,
  })
  await using without = await startProduct(sink)
  await using some = await startProduct(sink, { env: traced('0.01') })
  await using all = await startProduct(sink, { env: traced('1') })

  async function send(product: Product, requests = MESSAGES): Promise<Round> {
    const run = sendRun(product, { bytes: 4_000, connections: 64, requests })
    const measured = await measure([[product.apiPid, product.postgresPid]], () => http.ask(run))
    expectDelivered(measured.result)
    return roundOf(measured, requests)
  }

  for (const product of [without, some, all]) await send(product, 1_500)
  const onePercent = await playPairs(
    () => send(some),
    () => send(without),
    'without traces',
    ROUNDS,
  )
  const everything = await playPairs(
    () => send(all),
    () => send(without),
    'without traces',
    3,
  )
  if ((await collector.octets()) === 0) throw new Error('Nothing was exported: this measured nothing.')
  return {
    figures: {
      ...figuresOf(
        'with 1 % recorded',
        onePercent.map(({ ours }) => ours),
      ),
      ...figuresOf(
        'without traces',
        onePercent.map(({ theirs }) => theirs),
      ),
      'CPU with 1 % recorded relative to without': ratio(onePercent, 'cpuMicros'),
      'sends/s with all recorded relative to without': ratio(everything, 'perSecond'),
    },
    bars: [atLeast('sends/s with 1 % recorded relative to without', ratio(onePercent, 'perSecond'), 0.97)],
  }
}

import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { atLeast, atMost, percentile, type Report } from './report.ts'

const REQUESTS = 1_000
const HOLD_MS = 2_000
/** Other sends at the same time, as on a server in use. They must last as long as the duplicates. */
const OTHERS_IN_FLIGHT = 32
const OTHERS = 3_000

/**
 * A thousand requests at once with one key, over two processes, while the mail server takes 2 s; other sends run
 * meanwhile.
 */
export async function run(): Promise<Report> {
  await using sink = await startSink({ holdMs: HOLD_MS })
  await using quick = await startSink()
  await using product = await startProduct(sink, { nodes: 2, others: quick })
  await using first = await startHttpLoad()
  await using second = await startHttpLoad()
  await using others = await startHttpLoad()

  const unrelated = (requests: number) =>
    others.ask(sendRun(product, { connections: OTHERS_IN_FLIGHT, requests, to: 'b@others.test' })).then(expectDelivered)
  await unrelated(1_000)
  const alone = percentile((await unrelated(OTHERS)).latenciesMs, 0.99)

  const half = REQUESTS / 2
  const duplicates = product.ports.map((port) => ({
    ...sendRun({ ...product, port }, { connections: half, requests: half, keys: { prefix: 'one-', distinct: 1 } }),
  }))
  const [beside, ...responses] = await Promise.all([
    unrelated(OTHERS),
    first.ask(duplicates[0]!).then(expectDelivered),
    second.ask(duplicates[1]!).then(expectDelivered),
  ])
  const slowestMs = Math.max(...responses.flatMap(({ latenciesMs }) => latenciesMs))
  const besideMs = percentile(beside.latenciesMs, 0.99)
  const bodies = Math.max(...responses.map(({ bodies }) => bodies))
  return {
    figures: {
      'mails sent': await sink.count(),
      'different bodies, a process': bodies,
      'slowest response ms': slowestMs,
      'p99 of other sends alone ms': alone,
      'p99 of other sends meanwhile ms': besideMs,
    },
    bars: [
      atMost('mails', await sink.count(), 1),
      atLeast('mails', await sink.count(), 1),
      atMost('different bodies', bodies, 1),
      atMost("slowest response beyond the mail server's 2 s, ms", slowestMs - HOLD_MS, 500),
      atMost('p99 of other sends relative to that alone', besideMs / alone, 2),
    ],
  }
}

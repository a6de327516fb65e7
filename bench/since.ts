import { join, resolve } from 'node:path'
import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { sendsOf } from './load/timed-sends.ts'
import { playPairs, ratio } from './pairs.ts'
import { atMost, type Report, type RunOptions } from './report.ts'

const MESSAGES = 3_000
const BYTES = 4_000
const IN_FLIGHT = 64
const ROUNDS = 15

/**
 * Whole sends of this checkout against those of another one, such as a worktree of the commit before with its packages.
 * Each has its own API process and PostgreSQL, and the other checkout starts its own with its own code.
 */
export async function run({ against }: RunOptions): Promise<Report> {
  if (against === undefined) throw new Error('Name the folder of the other checkout: --against <folder>')
  const other: { startProduct: typeof startProduct } = await import(join(resolve(against), 'bench/load/product.ts'))
  await using sink = await startSink()
  await using http = await startHttpLoad()
  await using product = await startProduct(sink)
  await using peer = await other.startProduct(sink)
  const [ours, theirs] = [product, peer].map((side) => {
    const send = sendsOf(side, http, BYTES)
    return (requests: number) => send({ inFlight: IN_FLIGHT, requests })
  })
  for (const send of [ours!, theirs!]) await send(1_000)
  const pairs = await playPairs(
    () => ours!(MESSAGES),
    () => theirs!(MESSAGES),
    'the other checkout',
    ROUNDS,
  )
  const figures = {
    "sends/s relative to the other's": ratio(pairs, 'perSecond'),
    "API's CPU relative to the other's": ratio(pairs, 'apiCpuMicros'),
    "PostgreSQL's CPU relative to the other's": ratio(pairs, 'postgresCpuMicros'),
    "p50 relative to the other's": ratio(pairs, 'p50Ms'),
  }
  return { figures, bars: [atMost("CPU of a send relative to the other's", ratio(pairs, 'cpuMicros'), 1.03)] }
}

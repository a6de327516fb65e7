import { randomUUID } from 'node:crypto'
import { measure } from './load/cpu.ts'
import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { playPairs, ratio, roundOf } from './pairs.ts'
import { atLeast, median, type Report } from './report.ts'

const MESSAGES = 3_000
const REPEATS = 12_000
const IN_FLIGHT = 64

/** What an Idempotency-Key costs a send, and what a repeat costs in terms of a send. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const { apiPid, postgresPid } = product

  async function send(requests: number, keys?: { prefix: string; distinct: number }) {
    const run = sendRun(product, { connections: IN_FLIGHT, requests, keys })
    const measured = await measure([[apiPid], [postgresPid]], () => http.ask(run))
    expectDelivered(measured.result)
    return roundOf(measured, requests)
  }
  let keySets = 0
  const newKeys = () => {
    keySets++
    return { prefix: `${randomUUID()}-`, distinct: MESSAGES }
  }

  await send(1_000)
  await send(1_000, newKeys())
  console.log('sends with a key of their own, in turns with sends without one')
  const keyed = await playPairs(
    () => send(MESSAGES, newKeys()),
    () => send(MESSAGES),
    'without a key',
  )
  const repeatedKeys = newKeys()
  await send(MESSAGES, repeatedKeys)
  const [sent, before] = [await sink.count(), keySets]
  console.log('repeats, in turns with sends with a key of their own')
  const repeats = await playPairs(
    () => send(REPEATS, repeatedKeys),
    () => send(MESSAGES, newKeys()),
    'sends',
  )
  const extra = (await sink.count()) - sent - MESSAGES * (keySets - before)
  if (extra !== 0) throw new Error(`repeats sent ${extra} messages`)
  return {
    figures: {
      'sends/s with a key': median(keyed.map(({ ours }) => ours.perSecond)),
      'sends/s without': median(keyed.map(({ theirs }) => theirs.perSecond)),
      'repeats/s': median(repeats.map(({ ours }) => ours.perSecond)),
      'repeat CPU us': median(repeats.map(({ ours }) => ours.cpuMicros)),
    },
    bars: [
      atLeast('sends/s with a key relative to those without', ratio(keyed, 'perSecond'), 0.85),
      atLeast('repeats/s relative to sends/s', ratio(repeats, 'perSecond'), 5),
    ],
  }
}

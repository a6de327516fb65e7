import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { measure, untilCalm } from './load/cpu.ts'
import { startHttpLoad } from './load/http.ts'
import { pacedSends } from './load/paced-sends.ts'
import { startPosts } from './load/posts.ts'
import { type Product, startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { sendsOf } from './load/timed-sends.ts'
import { atMost, median, type Report, type RunOptions } from './report.ts'

/** Where most installations are. */
const SLOW = { events: 390, perSecond: 13 }
const FULL = { inFlight: 64, requests: 4_000 }
const WARM_UP = { inFlight: 64, requests: 3_000 }
const IDLE_MS = 20_000
const ROUNDS = 5
/** What a core costs for an hour at the large clouds, in dollars: about this, with a year's commitment less. */
const CORE_HOUR = 0.04

/** Milliseconds of processor time: of a send, or of a second without one. */
interface Cost {
  api: number
  postgres: number
}
type Costs = Record<'idle' | 'slow' | 'full', Cost>

/**
 * What a send costs at thirteen a second and at full load, what a second without any costs, and the price of a million.
 * With `--against` another checkout plays the same rounds in turns.
 */
export async function run({ against }: RunOptions): Promise<Report> {
  await using sink = await startSink()
  await using posts = await startPosts()
  await using http = await startHttpLoad()
  await using product = await startProduct(sink)
  const ours = costsOf(product)
  if (against === undefined) {
    const costs = await playRounds([ours])
    console.log('Without --against nothing was compared, and no bar was judged.')
    return { figures: figuresOf(costs.map(([own]) => own!)), bars: [] }
  }

  const other: { startProduct: typeof startProduct } = await import(join(resolve(against), 'bench/load/product.ts'))
  await using peer = await other.startProduct(sink)
  const rounds = await playRounds([ours, costsOf(peer)])
  const relative = (load: keyof Costs) => median(rounds.map(([own, other]) => sum(own![load]) / sum(other![load])))
  return {
    figures: { ...figuresOf(rounds.map(([own]) => own!)), "idle second relative to the other's": relative('idle') },
    bars: [
      atMost("CPU of a send at thirteen a second relative to the other's", relative('slow'), 0.8),
      atMost("CPU of a send at full load relative to the other's", relative('full'), 1.03),
    ],
  }

  /** Returns a function that measures one round of a product. */
  function costsOf(side: Product) {
    const send = sendsOf(side, http)
    const spent = (count: number, work: () => Promise<unknown>) => costOf(side, count, work)
    return {
      warmUp: () => send(WARM_UP),
      measure: async (): Promise<Costs> => ({
        full: await spent(FULL.requests, () => send(FULL)),
        idle: await spent(IDLE_MS / 1_000, () => sleep(IDLE_MS)),
        slow: await spent(SLOW.events, () => pacedSends(posts, side, SLOW)),
      }),
    }
  }
}

async function playRounds(sides: { warmUp(): Promise<unknown>; measure(): Promise<Costs> }[]): Promise<Costs[][]> {
  for (const { warmUp } of sides) await warmUp()
  const rounds: Costs[][] = []
  for (let number = 1; number <= ROUNDS; number++) {
    const costs: Costs[] = []
    for (const i of number % 2 === 0 ? sides.keys() : [...sides.keys()].toReversed()) {
      await untilCalm()
      costs[i] = await sides[i]!.measure()
    }
    console.log(`round ${number}: ${costs.map(described).join('; the other ')}`)
    rounds.push(costs)
  }
  return rounds
}

async function costOf(product: Product, count: number, work: () => Promise<unknown>): Promise<Cost> {
  const { cpu } = await measure([[product.apiPid], [product.postgresPid]], work)
  const [api, postgres] = cpu.map((seconds) => (seconds * 1_000) / count)
  return { api: api!, postgres: postgres! }
}

const sum = ({ api, postgres }: Cost) => api + postgres

const described = ({ idle, slow, full }: Costs) =>
  [
    `a send at ${SLOW.perSecond}/s ${sum(slow).toFixed(1)} ms`,
    `full ${sum(full).toFixed(2)}`,
    `idle ${sum(idle).toFixed(0)}`,
  ].join(', ')

function figuresOf(rounds: Costs[]): Report['figures'] {
  const middle = (load: keyof Costs, part: keyof Cost) => median(rounds.map((costs) => costs[load][part]))
  const price = (load: keyof Costs) => ((middle(load, 'api') + middle(load, 'postgres')) / 3_600) * 1_000 * CORE_HOUR
  return {
    'idle: API, ms a second': middle('idle', 'api'),
    'idle: PostgreSQL, ms a second': middle('idle', 'postgres'),
    [`${SLOW.perSecond} sends/s: API, ms a send`]: middle('slow', 'api'),
    [`${SLOW.perSecond} sends/s: PostgreSQL, ms a send`]: middle('slow', 'postgres'),
    'full load: API, ms a send': middle('full', 'api'),
    'full load: PostgreSQL, ms a send': middle('full', 'postgres'),
    [`a million at ${SLOW.perSecond} sends/s, processors at $${CORE_HOUR} an hour`]: price('slow'),
    'a million at full load': price('full'),
  }
}

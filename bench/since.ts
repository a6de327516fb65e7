import { join, resolve } from 'node:path'
import { configure } from './load/endpoints.ts'
import { startHttpLoad } from './load/http.ts'
import { type Product, startProduct } from './load/product.ts'
import { type Receiver, startReceiver } from './load/receiver.ts'
import { sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { type SendRound, sendsOf } from './load/timed-sends.ts'
import { until } from './load/until.ts'
import { type Pair, playPairs, type Round, ratio, round } from './pairs.ts'
import { atMost, type Report, type RunOptions } from './report.ts'
import { startFirstAttemptsBench } from './webhooks.ts'

/** Few, so that both rounds of a pair find the machine alike. */
const MESSAGES = 1_000
const WARM_UP_MESSAGES = 3_000
const IN_FLIGHT = 64
const ROUNDS = 5
/** Many, because two processes of the same code differ by up to 4 % for as long as they run. */
const STARTS = 8
/** The thread of first attempts compiles its own machine code. */
const WARM_UP_EVENTS = 8_000
const EVENTS = 10_000
/** How many events are open: committed, and their first attempt has not ended. */
const OPEN = 1_024

interface Other {
  startProduct: typeof startProduct
  startFirstAttemptsBench: typeof startFirstAttemptsBench
}

/**
 * This checkout against another one, such as a worktree of the commit before with its packages: whole sends, sends
 * with an endpoint that acknowledges each event, and first attempts alone. Each side has its own processes and
 * PostgreSQL, started several times, and the other checkout starts its own with its own code.
 */
export async function run({ against }: RunOptions): Promise<Report> {
  if (against === undefined) throw new Error('Name the folder of the other checkout: --against <folder>')
  const { startProduct: startOther }: Other = await import(join(resolve(against), 'bench/load/product.ts'))
  const webhooks: Other = await import(join(resolve(against), 'bench/webhooks.ts'))
  await using sink = await startSink()
  await using http = await startHttpLoad()
  await using receiver = await startReceiver()
  const [sends, pushed, attempts]: [Pair<SendRound, SendRound>[][], Pair[][], Pair[][]] = [[], [], []]
  for (let start = 1; start <= STARTS; start++) {
    console.log(`start ${start}`)
    // What starts first is slower for as long as it runs.
    const areOursFirst = start % 2 === 1
    const inTurn = <Side>(sides: Side[]) => (areOursFirst ? sides : sides.toReversed())
    const [startFirst, startSecond] = inTurn([startProduct, startOther])
    await using first = await startFirst!(sink)
    await using second = await startSecond!(sink)
    const [product, peer] = inTurn([first, second]) as [Product, Product]
    const plain = [product, peer].map((side) => {
      const send = sendsOf(side, http)
      return (requests: number) => send({ inFlight: IN_FLIGHT, requests })
    })
    sends.push(await playWarm(plain, MESSAGES, WARM_UP_MESSAGES, areOursFirst))

    console.log('with an endpoint')
    const pushes = [product, peer].map((side) => pushedSends(side, receiver))
    pushed.push(await playWarm(pushes, MESSAGES, WARM_UP_EVENTS, areOursFirst))

    console.log('first attempts')
    const [attemptFirst, attemptSecond] = inTurn([startFirstAttemptsBench, webhooks.startFirstAttemptsBench])
    await using firstToAttempt = await attemptFirst!(receiver)
    await using secondToAttempt = await attemptSecond!(receiver)
    const posts = inTurn([firstToAttempt, secondToAttempt]).map(
      (side) => (events: number) => side.post({ events, open: OPEN }),
    )
    attempts.push(await playWarm(posts, EVENTS, WARM_UP_EVENTS, areOursFirst))
  }

  const cpu = {
    "CPU of a send relative to the other's": overStarts(sends, 'cpuMicros'),
    'CPU of a send with an endpoint': overStarts(pushed, 'cpuMicros'),
    'CPU of a first attempt': overStarts(attempts, 'cpuMicros'),
  }
  return {
    figures: {
      "sends/s relative to the other's": overStarts(sends, 'perSecond').mean,
      "API's CPU relative to the other's": overStarts(sends, 'apiCpuMicros').mean,
      "PostgreSQL's CPU relative to the other's": overStarts(sends, 'postgresCpuMicros').mean,
      "p50 relative to the other's": overStarts(sends, 'p50Ms').mean,
      'with an endpoint: sends/s': overStarts(pushed, 'perSecond').mean,
      'first attempts/s': overStarts(attempts, 'perSecond').mean,
      ...Object.fromEntries(Object.entries(cpu).map(([name, { error }]) => [`${name}, standard error`, error])),
    },
    bars: Object.entries(cpu).map(([name, { mean }]) => atMost(name, mean, 1.03)),
  }

  /** Plays sends of an account with an endpoint, until their events have arrived. */
  function pushedSends(side: Product, { url, count, take }: Receiver) {
    return async (requests: number) => {
      await configure(side, 'PUT', url('bench'))
      const played = await round([side.apiPid, side.postgresPid], requests, async () => {
        await http.ask(sendRun(side, { connections: IN_FLIGHT, requests }))
        await until('every event has arrived', async () => (await count()) >= requests)
      })
      await configure(side, 'DELETE')
      await take()
      return played
    }
  }
}

/** The mean of the ratios of all starts, and its standard error. */
function overStarts<Figure extends string>(
  starts: Pair<Round & Record<Figure, number>, Round & Record<Figure, number>>[][],
  figure: Figure,
) {
  const ratios = starts.map((pairs) => ratio(pairs, figure))
  const mean = ratios.reduce((sum, one) => sum + one, 0) / ratios.length
  const variance = ratios.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (ratios.length - 1)
  return { mean, error: Math.sqrt(variance / ratios.length) }
}

/** Plays rounds of both sides, after a warm-up of each. */
async function playWarm<Figures extends Round>(
  [ours, theirs]: ((count: number) => Promise<Figures>)[],
  count: number,
  warmUp: number,
  areOursFirst: boolean,
): Promise<Pair<Figures, Figures>[]> {
  for (const side of areOursFirst ? [ours, theirs] : [theirs, ours]) await side!(warmUp)
  return playPairs(
    () => ours!(count),
    () => theirs!(count),
    'the other checkout',
    ROUNDS,
    areOursFirst,
  )
}

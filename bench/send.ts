import { measure } from './load/cpu.ts'
import { startHttpLoad } from './load/http.ts'
import { startPostfix } from './load/postfix.ts'
import { startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { startSmtpSink } from './load/smtp-sink.ts'
import { figuresOf, playPairs, type Round, ratio, round, roundOf } from './pairs.ts'
import { atLeast, median, percentile, type Report, type RunOptions } from './report.ts'

const MESSAGES = 5_000
const BYTES = 4_000
const IN_FLIGHT = 64
/** What many senders give with each message, beside what the bench compares with Postfix. */
const OWN_DATA = {
  to: 'Ada Lovelace <b@to.test>',
  metadata: { order: '1234', customer: 'ada', list: 'shipping' },
  tag: 'order-shipped',
}
/** The difference is small: it takes more rounds to show above the noise. */
const OWN_DATA_ROUNDS = 9

interface SendRound extends Round {
  p50Ms: number
  p99Ms: number
  /** Processor time per message, in microseconds. */
  apiCpuMicros: number
  postgresCpuMicros: number
}

/**
 * Whole sends, from HTTP to SMTP and back with the database: with metadata, a tag and a name against without. With the
 * peer: against a Postfix that only relays to the same sink.
 */
export async function run({ peer }: RunOptions): Promise<Report> {
  await using sink = await (peer ? startSmtpSink() : startSink())
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const { apiPid, postgresPid } = product

  async function send(requests: number, fields?: object): Promise<SendRound> {
    const run = sendRun(product, { bytes: BYTES, connections: IN_FLIGHT, requests, fields })
    const measured = await measure([[apiPid], [postgresPid]], () => http.ask(run))
    const { latenciesMs } = expectDelivered(measured.result)
    const [api, postgres] = measured.cpu.map((seconds) => (seconds * 1e6) / requests)
    return {
      ...roundOf(measured, requests),
      p50Ms: percentile(latenciesMs, 0.5),
      p99Ms: percentile(latenciesMs, 0.99),
      apiCpuMicros: api!,
      postgresCpuMicros: postgres!,
    }
  }

  await send(1_000)
  if (!peer) {
    const pairs = await playPairs(
      () => send(MESSAGES, OWN_DATA),
      () => send(MESSAGES),
      'without metadata, tag and name',
      OWN_DATA_ROUNDS,
    )
    console.log('Without --peer nothing was compared with Postfix, and that bar was not judged.')
    return {
      figures: figuresOfSends(pairs.map(({ theirs }) => theirs)),
      bars: [atLeast('sends/s with metadata, tag and name relative to without', ratio(pairs, 'perSecond'), 0.97)],
    }
  }
  await using postfix = await startPostfix(sink)
  const relay = (messages: number) => round([postfix.pid], messages, () => postfix.relay(messages, BYTES))
  await relay(300)
  const pairs = await playPairs(
    () => send(MESSAGES),
    () => relay(MESSAGES),
  )
  return {
    figures: {
      ...figuresOfSends(pairs.map(({ ours }) => ours)),
      ...figuresOf(
        'postfix',
        pairs.map(({ theirs }) => theirs),
      ),
    },
    bars: [atLeast("sends/s relative to Postfix's messages/s", ratio(pairs, 'perSecond'), 1.5)],
  }
}

function figuresOfSends(rounds: readonly SendRound[]): Record<string, number> {
  const middle = (figure: keyof SendRound) => median(rounds.map((round) => round[figure]))
  return {
    ...figuresOf('send', rounds),
    'send p50 ms': middle('p50Ms'),
    'send p99 ms': middle('p99Ms'),
    'API CPU us per message': middle('apiCpuMicros'),
    'PostgreSQL CPU us per message': middle('postgresCpuMicros'),
  }
}

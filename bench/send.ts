import { startHttpLoad } from './load/http.ts'
import { type Opendkim, startOpendkim } from './load/opendkim.ts'
import { startPostfix } from './load/postfix.ts'
import { startProduct } from './load/product.ts'
import { type Sink, startSink } from './load/sink.ts'
import { startSmtpSink } from './load/smtp-sink.ts'
import { type SendRound, sendsOf } from './load/timed-sends.ts'
import { figuresOf, type Pair, playPairs, type Round, ratio, round } from './pairs.ts'
import { atLeast, median, type Report, type RunOptions } from './report.ts'

const MESSAGES = 5_000
/** Postfix with signatures is slower. */
const SIGNED_MESSAGES = 2_000
const IN_FLIGHT = 64
/** What many senders give with each message, beside what the bench compares with Postfix. */
const OWN_DATA = {
  to: 'Ada Lovelace <b@to.test>',
  metadata: { order: '1234', customer: 'ada', list: 'shipping' },
  tag: 'order-shipped',
}
/** The difference is small: it takes more rounds to show above the noise. */
const OWN_DATA_ROUNDS = 9

/**
 * Whole sends, from HTTP to SMTP and back with the database: with metadata, a tag and a name against without. With the
 * peer: against a Postfix that only relays to the same sink, and one that also signs with OpenDKIM, as a send does.
 */
export async function run({ peer }: RunOptions): Promise<Report> {
  await using sink = await (peer ? startSmtpSink() : startSink())
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const play = sendsOf(product, http)
  const send = (requests: number, fields?: object) => play({ inFlight: IN_FLIGHT, requests, fields })

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
  const { pairs, figures: unsigned } = await compare(sink, send, 'postfix')
  await using opendkim = await startOpendkim()
  const signing = await compare(sink, send, 'postfix-signed', opendkim)
  return {
    figures: { ...figuresOfSends(pairs.map(({ ours }) => ours)), ...unsigned, ...signing.figures },
    bars: [
      atLeast("sends/s relative to Postfix's messages/s", ratio(pairs, 'perSecond'), 1.5),
      atLeast("sends/s relative to Postfix's with signatures", ratio(signing.pairs, 'perSecond'), 5),
    ],
  }
}

/** Plays sends against a Postfix, which signs when it has an OpenDKIM. */
async function compare(
  sink: Sink,
  send: (requests: number) => Promise<SendRound>,
  name: string,
  opendkim?: Opendkim,
): Promise<{ pairs: Pair<SendRound, Round>[]; figures: Report['figures'] }> {
  await using postfix = await startPostfix(sink, opendkim)
  const messages = opendkim ? SIGNED_MESSAGES : MESSAGES
  const pids = [postfix.pid, ...(opendkim ? [opendkim.pid] : [])]
  const relay = (count: number) => round(pids, count, () => postfix.relay(count))
  await relay(300)
  const pairs = await playPairs(
    () => send(messages),
    () => relay(messages),
    name,
  )
  return {
    pairs,
    figures: figuresOf(
      name,
      pairs.map(({ theirs }) => theirs),
    ),
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

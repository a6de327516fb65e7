import { startEngine } from './load/engine.ts'
import { startPostfix } from './load/postfix.ts'
import { startSink } from './load/sink.ts'
import { startSmtpSink } from './load/smtp-sink.ts'
import { describe, figuresOf, playPairs, ratio, round } from './pairs.ts'
import { atLeast, atMost, type Report, type RunOptions } from './report.ts'

const MESSAGES = 5_000
const CONNECTIONS = 20

/**
 * The SMTP engine alone (MIME, DKIM with RSA-2048, SMTP over 20 connections) against Postfix as a relay to the same
 * sink.
 */
export async function run({ peer }: RunOptions): Promise<Report> {
  await using sink = await (peer ? startSmtpSink() : startSink())
  await using engine = await startEngine(sink.port)
  const send = (messages: number) =>
    round([engine.pid], messages, () => engine.ask({ messages, inFlight: CONNECTIONS }))
  await send(1_000)
  if (!peer) {
    const alone = await send(MESSAGES)
    console.log(`engine ${describe(alone)}`)
    console.log('Without --peer nothing was compared: the bars are ratios to Postfix and were not judged.')
    return { figures: figuresOf('engine', [alone]), bars: [] }
  }
  await using postfix = await startPostfix(sink)
  const relay = (messages: number) => round([postfix.pid], messages, () => postfix.relay(messages))
  await relay(300)
  const pairs = await playPairs(
    () => send(MESSAGES),
    () => relay(MESSAGES),
  )
  return {
    figures: {
      ...figuresOf(
        'engine',
        pairs.map(({ ours }) => ours),
      ),
      ...figuresOf(
        'postfix',
        pairs.map(({ theirs }) => theirs),
      ),
    },
    bars: [
      atLeast("messages/s relative to Postfix's", ratio(pairs, 'perSecond'), 3),
      atMost("CPU per message relative to Postfix's", ratio(pairs, 'cpuMicros'), 0.35),
    ],
  }
}

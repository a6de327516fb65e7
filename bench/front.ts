import { freePort } from '../dev/ports.ts'
import { type FrontClient, lmtpClient, restClient, smtpClient } from './load/front-clients.ts'
import { startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { figuresOf, playPairs, type Round, ratio, round } from './pairs.ts'
import { atLeast, atMost, median, type Report } from './report.ts'

const MESSAGES = 2_000
const WARM_UP = 500
const IN_FLIGHT = 32
const ROUNDS = 5
/** For latencies: so few that nothing waits for a connection. */
const FEW_IN_FLIGHT = 4
const FEW_MESSAGES = 400
const LMTP_RECIPIENTS = Array.from({ length: 10 }, (_, i) => `b${i}@to.test`)

interface TimedRound extends Round {
  p50Ms: number
}

/**
 * Sends of one raw message after the other over kept connections: by SMTP against by REST, each with a key; and by LMTP
 * to ten recipients at a time against ten messages by SMTP.
 */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  const [smtpPort, lmtpPort] = [await freePort(), await freePort()]
  await using product = await startProduct(sink, {
    env: { SMTP_FRONT_PORT: String(smtpPort), SMTP_FRONT_LMTP_PORT: String(lmtpPort) },
  })
  await using clients = new AsyncDisposableStack()
  const rest: FrontClient[] = []
  const smtp: FrontClient[] = []
  const lmtp: FrontClient[] = []
  for (let i = 0; i < IN_FLIGHT; i++) {
    rest.push(clients.use(restClient(product)))
    smtp.push(clients.use(await smtpClient({ port: smtpPort, key: product.key })))
  }
  const play = async (of: FrontClient[], inFlight: number, messages: number): Promise<TimedRound> => {
    const times: number[] = []
    const work = async () => {
      await Promise.all(
        of.slice(0, inFlight).map(async (client) => {
          for (let i = 0; i < messages / inFlight; i++) times.push((await client.send()).ms)
        }),
      )
    }
    const played = await round([product.apiPid, product.postgresPid], messages, work)
    return { ...played, p50Ms: median(times) }
  }
  for (const side of [rest, smtp]) await play(side, IN_FLIGHT, WARM_UP)
  const sides = [smtp, rest].map((side) => () => play(side, IN_FLIGHT, MESSAGES)) as [
    () => Promise<TimedRound>,
    () => Promise<TimedRound>,
  ]
  const pairs = await playPairs(...sides, 'REST', ROUNDS)
  // Not before: idle connections are closed.
  for (let i = 0; i < IN_FLIGHT; i++) {
    lmtp.push(clients.use(await lmtpClient({ port: lmtpPort, key: product.key }, LMTP_RECIPIENTS)))
  }
  await play(lmtp, IN_FLIGHT, WARM_UP / LMTP_RECIPIENTS.length)
  const many = LMTP_RECIPIENTS.length
  const ofRecipients = async () => {
    const played = await play(lmtp, IN_FLIGHT, MESSAGES / many)
    return { ...played, perSecond: many * played.perSecond, cpuMicros: played.cpuMicros / many }
  }
  const severals = await playPairs(ofRecipients, sides[0], 'a message for each by SMTP', ROUNDS)
  const [few, fewOfRest] = [smtp, rest].map((side) => () => play(side, FEW_IN_FLIGHT, FEW_MESSAGES)) as typeof sides
  const calm = await playPairs(few, fewOfRest, 'REST, few at a time', ROUNDS)
  const extraMs = median(calm.map(({ ours, theirs }) => ours.p50Ms - theirs.p50Ms))
  return {
    figures: {
      ...figuresOf(
        'smtp',
        pairs.map(({ ours }) => ours),
      ),
      ...figuresOf(
        'rest',
        pairs.map(({ theirs }) => theirs),
      ),
      ...figuresOf(
        'lmtp, a recipient of ten',
        severals.map(({ ours }) => ours),
      ),
      'smtp p50 ms': median(calm.map(({ ours }) => ours.p50Ms)),
      'rest p50 ms': median(calm.map(({ theirs }) => theirs.p50Ms)),
    },
    bars: [
      atLeast("sends/s by SMTP relative to REST's", ratio(pairs, 'perSecond'), 0.8),
      atLeast("recipients/s by LMTP, ten at a time, relative to SMTP's", ratio(severals, 'perSecond'), 1.3),
      atMost("ms of SMTP's p50 over REST's", extraMs, 2),
    ],
  }
}

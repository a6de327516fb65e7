import { startFastify } from './load/fastify.ts'
import { startGateway } from './load/gateway.ts'
import { startHttpLoad } from './load/http.ts'
import { playPairs, type Round, ratio, round } from './pairs.ts'
import { atLeast, median, type Report } from './report.ts'

const REQUESTS = 20_000
const CONNECTIONS = 32
const ROUNDS = 7

const BODY = JSON.stringify({
  to: 'ada@recipient.test',
  from: 'Shop <orders@example.test>',
  subject: 'Your order has been shipped',
  text: 'Hello Ada,\n\nyour order 1234 left our warehouse today and should be with you on Friday.\n',
  headers: { 'X-Order': '1234' },
  tenant_id: 'tenant_1',
})

/**
 * JSON in, JSON out. The gateway with its key check, contract, limits and log line, but with the send in memory,
 * against a Fastify route that only reads and writes JSON. Each is one process, in which Node uses one core; the load
 * uses the other.
 */
export async function run(): Promise<Report> {
  await using load = await startHttpLoad()
  await using gateway = await startGateway()
  await using fastify = await startFastify()

  const side = async ({ pid, ask }: typeof gateway) => {
    const port = await ask(null)
    return (requests: number): Promise<Round> =>
      round([pid], requests, async () => {
        const common = {
          path: '/api/v1/emails/send',
          key: 'svc_live_bench',
          body: BODY,
          connections: CONNECTIONS,
          awake: true,
        }
        const { counts } = await load.ask({ ...common, port, requests })
        if (counts['200 delivered'] !== requests) throw new Error(`not all were delivered: ${JSON.stringify(counts)}`)
      })
  }
  const [ours, theirs] = [await side(gateway), await side(fastify)]
  await ours(REQUESTS)
  await theirs(REQUESTS)

  const judged = await playPairs(
    () => ours(REQUESTS),
    () => theirs(REQUESTS),
    'Fastify',
    ROUNDS,
  )
  return {
    figures: {
      'gateway requests/s': median(judged.map(({ ours }) => ours.perSecond)),
      'gateway CPU us per request': median(judged.map(({ ours }) => ours.cpuMicros)),
      'Fastify requests/s': median(judged.map(({ theirs }) => theirs.perSecond)),
      'Fastify CPU us per request': median(judged.map(({ theirs }) => theirs.cpuMicros)),
    },
    bars: [atLeast("requests/s relative to Fastify's", ratio(judged, 'perSecond'), 0.45)],
  }
}

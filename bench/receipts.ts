import postgres from 'postgres'
import { publicId } from '../server/db/ids.ts'
import { measure, untilCalm } from './load/cpu.ts'
import { type HttpResponses, startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { atLeast, median, percentile, type Report } from './report.ts'

const MESSAGES = 2_000
const RECEIPTS = 5_000
const WARM_UP_RECEIPTS = 2_000
const ROUNDS = 5
const IN_FLIGHT = 64

/** Signed receipts over HTTP, each of another message than the one before. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const { port, key, apiPid, postgresPid, databaseUrl } = product
  await http.ask(sendRun(product, { connections: IN_FLIGHT, requests: MESSAGES })).then(expectDelivered)
  const path = (await storedMessages(databaseUrl)).map((id) => `/api/v1/emails/${id}/receipt`)
  const get = (requests: number) => http.ask({ port, key, path, connections: IN_FLIGHT, requests }).then(expectReceipts)

  await get(WARM_UP_RECEIPTS)
  const rounds: { perSecond: number; latenciesMs: number[]; cpu: number[] }[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    await untilCalm()
    const { result, cpu, foreign } = await measure([[apiPid], [postgresPid]], () => get(RECEIPTS))
    const perSecond = RECEIPTS / result.seconds
    console.log(`round ${round}: ${perSecond.toFixed(0)}/s (${(foreign * 100).toFixed(0)} % foreign)`)
    rounds.push({ perSecond, latenciesMs: result.latenciesMs, cpu })
  }
  const latenciesMs = rounds.flatMap(({ latenciesMs }) => latenciesMs)
  const micros = (tree: number) => median(rounds.map(({ cpu }) => (cpu[tree]! * 1e6) / RECEIPTS))
  const perSecond = median(rounds.map(({ perSecond }) => perSecond))
  return {
    figures: {
      'receipts/s': perSecond,
      'p50 ms': percentile(latenciesMs, 0.5),
      'p99 ms': percentile(latenciesMs, 0.99),
      'API CPU us per receipt': micros(0),
      'PostgreSQL CPU us per receipt': micros(1),
    },
    bars: [atLeast('receipts/s', perSecond, 1_000)],
  }
}

async function storedMessages(databaseUrl: string): Promise<string[]> {
  const sql = postgres(databaseUrl, { max: 1 })
  const rows = await sql<{ id: string }[]>`select id from messages`
  await sql.end()
  return rows.map(({ id }) => publicId('msg', id))
}

function expectReceipts(responses: HttpResponses): HttpResponses {
  const outcomes = Object.keys(responses.counts)
  if (outcomes.join() !== '200 ') throw new Error(`Not everything was a receipt: ${JSON.stringify(responses.counts)}`)
  return responses
}

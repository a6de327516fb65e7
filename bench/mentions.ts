import postgres from 'postgres'
import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { sendsOf } from './load/timed-sends.ts'
import { playPairs, ratio } from './pairs.ts'
import { atMost, median, type Report } from './report.ts'

/** How many sends are in flight, and how many sends are a round of about two seconds. */
const LOADS = [
  { inFlight: 1, requests: 500 },
  { inFlight: 4, requests: 1_500 },
  { inFlight: 64, requests: 3_000 },
]
/** Many pairs, because the difference is small. */
const ROUNDS = 12
const INDEXES = ['messages_mentions', 'recipients_mentions', 'events_mentions']

/** What the partial indexes that lead an erasure to its rows cost a send: sends with them, against sends without. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const sql = postgres(product.databaseUrl, { max: 1, onnotice: () => {} })
  const definitions = await sql<{ definition: string }[]>`
    select replace(pg_get_indexdef(name::regclass), ' ON ONLY ', ' ON ') as definition from unnest(${INDEXES}::text[]) name`
  let haveIndexes = true
  async function setIndexes(wanted: boolean): Promise<void> {
    if (wanted === haveIndexes) return
    if (wanted) for (const { definition } of definitions) await sql.unsafe(definition)
    else await sql.unsafe(`drop index ${INDEXES}`)
    haveIndexes = wanted
  }

  const send = sendsOf(product, http)
  const figures: Record<string, number> = {}
  const bars = []
  for (const load of LOADS) {
    const sendsWith = (indexes: boolean) => async () => {
      await setIndexes(indexes)
      // Each connection plans its statements anew.
      await send({ ...load, requests: load.requests / 5 })
      return send(load)
    }
    const pairs = await playPairs(sendsWith(true), sendsWith(false), 'without', ROUNDS)
    const postgresMicros = median(pairs.map(({ ours, theirs }) => ours.postgresCpuMicros - theirs.postgresCpuMicros))
    bars.push(
      atMost(`${load.inFlight} in flight: PostgreSQL's CPU for the indexes, us per message`, postgresMicros, 50),
    )
    figures[`${load.inFlight} in flight: CPU per message relative to without the indexes`] = ratio(pairs, 'cpuMicros')
  }
  await sql.end()
  return { figures, bars }
}

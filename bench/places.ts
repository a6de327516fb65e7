import { Pool } from '../mail/smtp/pool.ts'
import type { OpenSitePlaces } from '../mail/smtp/site-places.ts'
import { createDatabaseClock } from '../server/db/clock.ts'
import { connect } from '../server/db/connect.ts'
import { applyMigrations } from '../server/db/migrations.ts'
import { SharedPlaces } from '../server/shaping/shared-places.ts'
import { startDatabase } from './load/database.ts'
import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { sendsOf } from './load/timed-sends.ts'
import { playPairs, type Round, round } from './pairs.ts'
import { atMost, median, type Report } from './report.ts'

const SENDS = 2_000
const BYTES = 4_000
const IN_FLIGHT = 64
const PLACES = 20_000
const ROUNDS = 15
/** The figures would not show what runs once a second if they were taken as fast as a loop runs. */
const PER_SECOND = 10_000
const SITE = {
  key: '127.0.0.1 mx.example:25',
  address: '127.0.0.1',
  name: 'mx.example:25',
  limits: { connections: IN_FLIGHT * 2, messages: 100 },
}

/** What shared places cost a send: a pool that shares its places over PostgreSQL against one that shares with none. */
export async function run(): Promise<Report> {
  const sendMicros = await costOfSend()
  await using database = await startDatabase()
  await applyMigrations(database.url)
  const db = connect(database.url)
  const clock = await createDatabaseClock(db)
  const shared = new SharedPlaces({ db, clock, onError: (error) => console.error(error) })
  const trees = [process.pid, database.pid]
  const pairs = await playPairs(
    () => play(trees, shared.open),
    () => play(trees),
    'with local places',
    ROUNDS,
  )
  await shared.close()
  clock.stop()
  await db.$client.end()
  const costs = pairs.map(({ ours, theirs }) => ours.cpuMicros - theirs.cpuMicros)
  return {
    figures: { 'send, CPU us of API and PostgreSQL': sendMicros, 'shared places, CPU us more': median(costs) },
    bars: [atMost("shared places, share of a send's CPU", median(costs) / sendMicros, 0.03)],
  }
}

async function costOfSend(): Promise<number> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const send = sendsOf(product, http, BYTES)
  await send({ inFlight: IN_FLIGHT, requests: 500 })
  return (await send({ inFlight: IN_FLIGHT, requests: SENDS })).cpuMicros
}

/** Takes and releases places, as sends do. */
function play(trees: readonly number[], openPlaces?: OpenSitePlaces): Promise<Round> {
  const pool = new Pool({ idleMs: 30_000, openPlaces })
  return round(trees, PLACES, async () => {
    const batches = PER_SECOND / IN_FLIGHT
    for (let taken = 0; taken < PLACES; taken += IN_FLIGHT) {
      const places = await Promise.all(Array.from({ length: IN_FLIGHT }, () => pool.acquire(SITE, {})))
      await new Promise((resolve) => setTimeout(resolve, 1_000 / batches))
      for (const place of places) if (place.kind === 'place') place.release()
    }
    pool.close()
  })
}

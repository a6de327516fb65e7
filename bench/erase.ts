import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { measure } from './load/cpu.ts'
import { fillHistory } from './load/history.ts'
import type { Table } from './load/history-rows.ts'
import { startHttpLoad } from './load/http.ts'
import { pacedSends } from './load/paced-sends.ts'
import { startPosts } from './load/posts.ts'
import { type Product, startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { playPairs, ratio, roundOf } from './pairs.ts'
import { atLeast, atMost, median, percentile, type Report, type RunOptions } from './report.ts'

const MESSAGES = 1_000_000
const MATCHING = 1_000
/** The sends of about two seconds. */
const REQUESTS = 2_500
/** As many times those as an erasure takes. */
const TIMES = 12
const IN_FLIGHT = 64
const ROUNDS = 5
const SHARE_OF_FULL = 0.5
const SECONDS_AT_HALF = 30
const ROUNDS_AT_HALF = 3
const CLI = fileURLToPath(new URL('../cli/bin.mjs', import.meta.url))

/** Erases an address that 1,000 of 1,000,000 messages went to: alone, beside a full load of sends, and beside half. */
export async function run({ size = MESSAGES }: RunOptions): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  await using posts = await startPosts()
  const sql = postgres(product.databaseUrl, { max: 1, onnotice: () => {} })
  const [big] = await sql<{ id: string }[]>`select account_id as id from domains limit 1`
  const tables: Table[] = ['messages', 'recipients', 'events']
  await fillHistory(product.databaseUrl, { big: big!.id, quiet: big!.id, messages: size, tables })
  let person = 0
  const nextAddress = async () => {
    const email = `ann${++person}@to.example`
    await addMessages(sql, email)
    return email
  }

  const run = sendRun(product, { connections: IN_FLIGHT, requests: REQUESTS })
  const sendWhile = async (goesOn: (times: number) => boolean) => {
    const measured = await measure([[product.apiPid], [product.postgresPid]], async () => {
      let times = 0
      do expectDelivered(await http.ask(run))
      while (goesOn(++times))
      return times
    })
    return roundOf(measured, measured.result * REQUESTS)
  }
  const alone: number[] = []
  const meanwhile: number[] = []
  for (let round = 0; round < 3; round++) alone.push(await erase(product, await nextAddress()))

  await sendWhile(() => false)
  const sendDuringErasure = async () => {
    let isErasing = true
    const erasing = erase(product, await nextAddress()).finally(() => {
      isErasing = false
    })
    const round = await sendWhile(() => isErasing)
    meanwhile.push(await erasing)
    return round
  }
  const sendWithout = () => sendWhile((times) => times < TIMES)
  const pairs = await playPairs(sendDuringErasure, sendWithout, 'without an erasure', ROUNDS)

  const fullRate = median(pairs.map(({ theirs }) => theirs.perSecond))
  const perSecond = Math.round(SHARE_OF_FULL * fullRate)
  const pace = { events: perSecond * SECONDS_AT_HALF, perSecond }
  const p99AtHalf = async () => percentile(await pacedSends(posts, product, pace), 0.99)
  const atHalf: { seconds: number; p99During: number; p99Without: number }[] = []
  for (let round = 0; round < ROUNDS_AT_HALF; round++) {
    const p99Without = await p99AtHalf()
    const erasing = erase(product, await nextAddress())
    const p99During = await p99AtHalf()
    atHalf.push({ seconds: await erasing, p99During, p99Without })
  }
  await sql.end()
  return {
    figures: {
      'erasure alone, s': median(alone),
      'erasure beside half of the full load, s': median(atHalf.map(({ seconds }) => seconds)),
      'p99 of sends at half of the full load during an erasure, ms': median(atHalf.map(({ p99During }) => p99During)),
      'p99 of sends at half of the full load without, ms': median(atHalf.map(({ p99Without }) => p99Without)),
      'sends/s without an erasure': fullRate,
      'sends/s during an erasure': median(pairs.map(({ ours }) => ours.perSecond)),
    },
    bars: [
      atMost('an erasure while messages are sent, s', median(meanwhile), 30),
      atLeast('sends/s during an erasure relative to without', ratio(pairs, 'perSecond'), 0.95),
    ],
  }
}

/** Runs the command in its own process. Returns the seconds it took. */
async function erase({ databaseUrl, encryptionKeys }: Product, email: string): Promise<number> {
  const startedAt = performance.now()
  const env = { ...process.env, DATABASE_URL: databaseUrl, ENCRYPTION_KEYS: encryptionKeys }
  const child = spawn(process.execPath, [CLI, 'erase', email, '--yes', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  const { rows } = JSON.parse(output || '{}')
  if (code !== 0 || rows !== 3 * MATCHING) throw new Error(`The erasure ended with ${code}: ${output}`)
  return (performance.now() - startedAt) / 1_000
}

/** Stores messages to an address, over all days, each with its recipient and its event. */
async function addMessages(sql: postgres.Sql, email: string): Promise<void> {
  const copyOf = (column: string) => `(substr(${column}::text, 1, 24) || substr(md5($1 || ${column}), 1, 12))::uuid`
  await sql.unsafe('create temporary table if not exists chosen (id uuid, event_id uuid)')
  await sql.unsafe('truncate chosen')
  await sql.unsafe(`
    insert into chosen select m.id, r.event_id from messages m tablesample system (1)
    join recipients r on r.message_id = m.id and r.position = 0 order by random() limit ${MATCHING}`)
  await sql.unsafe(
    `insert into messages select (json_populate_record(m, json_build_object('id', ${copyOf('m.id')},
       'request', jsonb_set(m.request::jsonb, '{to}', jsonb_build_array($1::text))))).*
     from messages m where m.id in (select id from chosen)`,
    [email],
  )
  await sql.unsafe(
    `insert into recipients select (json_populate_record(r, json_build_object('message_id', ${copyOf('r.message_id')},
       'event_id', ${copyOf('r.event_id')}, 'email', $1::text))).*
     from recipients r where r.position = 0 and r.message_id in (select id from chosen)`,
    [email],
  )
  await sql.unsafe(
    `insert into events select (json_populate_record(e, json_build_object('id', ${copyOf('e.id')},
       'message_id', ${copyOf('e.message_id')}, 'recipient', $1::text))).*
     from events e where e.id in (select event_id from chosen)`,
    [email],
  )
}

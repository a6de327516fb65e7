import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { untilCalm } from './load/cpu.ts'
import { pacedSends } from './load/paced-sends.ts'
import { type PostsRun, startPosts, type TimedResponse } from './load/posts.ts'
import type { Worker } from './load/process.ts'
import { type Product, startProduct } from './load/product.ts'
import { sendBody } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { atMost, median, type Report } from './report.ts'

const BYTES = 4_000
/** The rate of the sends that are delivered. */
const PER_SECOND = 20
/** That of the refused ones: 10,000 an hour. */
const INCIDENTS_PER_SECOND = 10_000 / 3_600
const SECONDS = 20
const ROUNDS = 5
const CALM_WITHIN_MS = 8_000

/** Every refused recipient is looked up: what counts against it, and when it last took mail. Do other sends wait? */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using full = await startFullServer()
  await using product = await startProduct(sink, { others: full })
  await using posts = await startPosts()
  await using refused = await startPosts()
  const pace = { events: PER_SECOND * SECONDS, perSecond: PER_SECOND }
  const sends = async () => median(await pacedSends(posts, product, BYTES, pace))
  await sends()
  const rounds: { alone: number; beside: number }[] = []
  let incidents = 0
  for (let number = 1; number <= ROUNDS; number++) {
    await untilCalm(CALM_WITHIN_MS)
    const alone = await sends()
    const [beside, refusals] = await Promise.all([sends(), refuse(refused, product, number)])
    incidents += refusals
    rounds.push({ alone, beside })
    console.log(`round ${number}: p50 ms alone ${alone.toFixed(1)}, beside ${refusals} incidents ${beside.toFixed(1)}`)
  }
  return {
    figures: {
      incidents,
      'p50 ms alone': median(rounds.map(({ alone }) => alone)),
      'p50 ms beside incidents': median(rounds.map(({ beside }) => beside)),
    },
    bars: [
      atMost('p50 beside 10,000 incidents an hour', median(rounds.map(({ alone, beside }) => beside / alone)), 1.1),
    ],
  }
}

/** Sends to addresses whose mailbox is full, each to its own. Returns how many were refused. */
async function refuse(posts: Worker<PostsRun, TimedResponse[]>, { port, key }: Product, round: number) {
  const events = Math.round(INCIDENTS_PER_SECOND * SECONDS)
  const bodies = Array.from({ length: events }, (_, i) => sendBody(BYTES, `full-${round}-${i}@others.test`))
  const pace = { events, perSecond: INCIDENTS_PER_SECOND }
  const responses = await posts.ask({ port, key, path: '/api/v1/emails/send', bodies, pace })
  const refusals = responses.filter(({ body }) => JSON.parse(body).reason === 'mailbox_full').length
  if (refusals !== events) throw new Error(`${events - refusals} of ${events} were not refused: ${responses[0]!.body}`)
  return refusals
}

/** A mail server whose mailboxes are all full. */
async function startFullServer() {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('220 full.test\r\n')
    socket.setEncoding('latin1').on('data', (text) => {
      for (const line of String(text).split('\r\n').filter(Boolean))
        socket.write(/^RCPT/i.test(line) ? '552 5.2.2 Mailbox full\r\n' : '250 full.test\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DayReport, writeOldDays } from '../server/archive/write-old-days.ts'
import { HISTORY } from '../server/db/schema.ts'
import { createReaders } from './lists.ts'
import { untilCalm } from './load/cpu.ts'
import { fillExpiredDay } from './load/history.ts'
import type { Table } from './load/history-rows.ts'
import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { type SendLoad, type SendRound, sendsOf } from './load/timed-sends.ts'
import { atMost, median, type Report, type RunOptions } from './report.ts'

const MESSAGES = 1_000_000
const DAYS_OF_HISTORY = 30
const WARM_UP = { inFlight: 2, requests: 2_000 }
const SENDS = { inFlight: 2, requests: 300 }
const ROUNDS = 5
const MOST_S = 180

/**
 * A day of history, each message with an acknowledged event for each recipient, is written into a folder as Parquet by
 * the worker's process: alone, and beside sends, which are compared with sends without it. `size` is the number of
 * messages.
 */
export async function run({ size = MESSAGES }: RunOptions): Promise<Report> {
  await using sink = await startSink()
  await using http = await startHttpLoad()
  await using product = await startProduct(sink)
  const { owners } = await createReaders(product.databaseUrl)
  const tables = Object.keys(HISTORY) as Table[]
  await fillExpiredDay(product.databaseUrl, { ...owners, messages: size * DAYS_OF_HISTORY, tables })
  const folder = join(product.databaseDir, 'archive')
  Object.assign(process.env, { DATABASE_URL: product.databaseUrl, HISTORY_ARCHIVE: folder })
  await untilCalm()

  const alone = await writeTo(folder)
  const send = sendsOf(product, http)
  await send(WARM_UP)
  const without = await roundsOf(send, ROUNDS)
  const beside: SendRound[] = []
  let isWriting = true
  const writing = writeTo(folder).finally(() => {
    isWriting = false
  })
  while (isWriting) beside.push(await send(SENDS))
  const written = await writing
  without.push(...(await roundsOf(send, ROUNDS)))
  const relative = (field: 'p50Ms' | 'apiCpuMicros') =>
    median(beside.slice(0, -1).map((round) => round[field])) / median(without.map((round) => round[field]))
  return {
    figures: {
      'a day alone, s': alone.seconds,
      'a day beside sends, s': written.seconds,
      'bytes of Parquet per message': alone.bytes / size,
      'rows of Parquet': alone.rows,
      'p50 of sends beside, relative': relative('p50Ms'),
      'CPU of sends beside, relative': relative('apiCpuMicros'),
    },
    bars: [
      atMost('a day alone, s', alone.seconds, MOST_S),
      atMost('p50 of sends beside, relative', relative('p50Ms'), 1.05),
    ],
  }
}

async function roundsOf(send: (load: SendLoad) => Promise<SendRound>, count: number): Promise<SendRound[]> {
  const rounds: SendRound[] = []
  while (rounds.length < count) rounds.push(await send(SENDS))
  return rounds
}

/** Writes the day into the folder, which is empty. */
async function writeTo(folder: string): Promise<{ seconds: number; rows: number; bytes: number }> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  const reports: DayReport[] = []
  const startedAt = performance.now()
  await writeOldDays((report) => reports.push(report), new AbortController().signal)
  const [report] = reports
  if (reports.length !== 1 || !report || 'fault' in report) throw new Error(JSON.stringify(reports))
  return { seconds: (performance.now() - startedAt) / 1_000, rows: report.rows, bytes: report.bytes }
}

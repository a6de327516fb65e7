import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { Product } from './product.ts'

/** The statements of a send, each with a part of its text that no other has. */
const STATEMENTS = {
  suppressions: '%from suppressions s%',
  claim: '%insert into open_messages%',
  marker: '%set marked_at%',
  record: '%delete from open_messages m using input%',
}

export type StatementName = keyof typeof STATEMENTS

export interface StatementTimes {
  calls: number
  /** The mean, without the way to the server and back. */
  meanMs: number
  longestMs: number
}

export interface Watched {
  statements: Record<StatementName, StatementTimes>
  /** How long statements waited for locks, of all waits of over 10 ms. */
  lockWaitsMs: number[]
  /** The share of active sessions by what they wait for; `CPU` for nothing. */
  waits: Record<string, number>
}

const SAMPLE_EVERY_MS = 20
/** Waits for a lock that last longer are logged. */
const LOGGED_WAIT_MS = 10

/** Watches what the database does while `work` runs. It must have been started with `pg_stat_statements`. */
export async function watchStatements({ databaseUrl, databaseDir }: Product) {
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => {} })
  await sql`create extension if not exists pg_stat_statements`
  await sql.unsafe(`alter system set deadlock_timeout = '${LOGGED_WAIT_MS}ms'`)
  await sql`alter system set log_lock_waits = on`
  await sql`select pg_reload_conf()`
  const logFile = join(databaseDir, 'postgres.log')

  async function sampleWhile(isWorking: () => boolean): Promise<Watched['waits']> {
    const samples: Record<string, number> = {}
    let sessions = 0
    for (; isWorking(); await sleep(SAMPLE_EVERY_MS)) {
      const rows = await sql<{ event: string }[]>`
        select coalesce(wait_event_type || ':' || wait_event, 'CPU') as event from pg_stat_activity
        where state = 'active' and application_name like 'verdict%'`
      for (const { event } of rows) samples[event] = (samples[event] ?? 0) + 1
      sessions += rows.length
    }
    const shares = Object.entries(samples).map(([event, count]): [string, number] => [event, count / sessions])
    return Object.fromEntries(shares.toSorted(([, a], [, b]) => b - a))
  }

  async function timesOf(pattern: string): Promise<StatementTimes> {
    const [row] = await sql`
      select sum(calls)::int as calls, sum(total_exec_time) as total, max(max_exec_time) as longest
      from pg_stat_statements where query like ${pattern} and query not like '%pg_stat_statements%'`
    return { calls: row!.calls ?? 0, meanMs: row!.total / row!.calls, longestMs: row!.longest }
  }

  return {
    async watch<Result>(work: () => Promise<Result>): Promise<Watched & { result: Result }> {
      const logged = statSync(logFile).size
      await sql`select pg_stat_statements_reset()`
      let isWorking = true
      const sampling = sampleWhile(() => isWorking)
      const result = await work().finally(() => {
        isWorking = false
      })
      const waits = await sampling
      const log = readFileSync(logFile).subarray(logged).toString()
      const lockWaitsMs = [...log.matchAll(/ acquired .* after ([\d.]+) ms/g)].map(([, ms]) => Number(ms))
      const entries = Object.entries(STATEMENTS).map(async ([name, pattern]) => [name, await timesOf(pattern)] as const)
      const statements = Object.fromEntries(await Promise.all(entries)) as Watched['statements']
      return { result, statements, lockWaitsMs, waits }
    },
    [Symbol.asyncDispose]: () => sql.end(),
  }
}

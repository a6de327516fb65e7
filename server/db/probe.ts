import type { Socket } from 'node:net'
import postgres from 'postgres'
import { inTime } from '../async/timeout.ts'
import type { DatabaseHost } from '../config/database-url.ts'
import { dialDatabase } from './database-sockets.ts'
import { addressOf, type Probe, type ServerState } from './primary.ts'

const PROBE_MS = 2_000

const STATE = `
  select case when pg_is_in_recovery() then 'standby' when current_setting('transaction_read_only') = 'on' then 'read_only'
    else 'writable' end as kind`

// The first eight digits of the name of a segment of the write-ahead log.
const TIMELINE = `select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline`

/** Asks a server of DATABASE_URL for its state, on its own connection. `url` has the user, the name and TLS. */
export function createProbe(url: string): Probe {
  return async function probe({ host, port }: DatabaseHost): Promise<ServerState> {
    let socket: Socket
    const options = { socket: () => (socket = dialDatabase({ host, port })) }
    const sql = postgres(url, {
      ...options,
      host,
      port,
      max: 1,
      connect_timeout: PROBE_MS / 1_000,
      fetch_types: false,
      onnotice: () => {},
      connection: { application_name: 'verdict' },
    })
    const ask = async () => {
      const [row] = await sql.unsafe<Pick<ServerState, 'kind'>[]>(STATE)
      const { kind } = row!
      return { kind, timeline: kind === 'standby' ? 0 : await timelineOf(sql), address: addressOf(socket) }
    }
    const late = () => Object.assign(new Error('no answer'), { code: 'CONNECT_TIMEOUT' })
    try {
      return await inTime(ask(), PROBE_MS, late)
    } finally {
      await sql.end({ timeout: 0 })
    }
  }
}

/** Some services that speak PostgreSQL's protocol have no write-ahead log to ask for. */
async function timelineOf(sql: postgres.Sql): Promise<number> {
  const [row] = await sql.unsafe<{ timeline: number }[]>(TIMELINE).catch(() => [])
  return row?.timeline ?? 0
}

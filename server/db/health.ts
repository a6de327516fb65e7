import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { sqlStateOf } from './collector.ts'

/** What failed statements say about the database as a whole. */
export interface Health {
  /**
   * Whether the database's disk is full: from the first statement that failed for it until there is room again. Then
   * no send may reach its marker: its outcome could not be stored.
   */
  isFull(): boolean
  /** Is called with the error of every failed statement. */
  note(error: unknown): void
}

const DISK_FULL = '53100'
const READ_ONLY = '25006'
const PROBE_EVERY_MS = 1_000

/** Writes four megabytes, and gives them back at its end. */
const PROBE = `create temporary table verdict_room on commit drop as
  select repeat('x', 1900) as octets from generate_series(1, 2000)`

/** Whether PostgreSQL refused a statement for the state of the whole database. Nothing of the statement was done. */
export const isRefusal = (error: unknown) => [DISK_FULL, READ_ONLY].includes(sqlStateOf(error))

/** `suspectServer` is called when the server refuses to write. */
export function createHealth(client: Sql, suspectServer: () => void): Health {
  let isFull = false

  async function waitForRoom(): Promise<void> {
    for (; isFull; await sleep(PROBE_EVERY_MS, undefined, { ref: false })) {
      const code = await client.unsafe(PROBE).then(
        () => undefined,
        (error) => error.code,
      )
      // A user that may not create temporary tables learns from the next statement that fails.
      if (code === undefined || code === INSUFFICIENT_PRIVILEGE || code === CONNECTION_ENDED) isFull = false
    }
  }

  return {
    isFull: () => isFull,
    note(error) {
      const state = sqlStateOf(error)
      if (state === READ_ONLY) suspectServer()
      if (state !== DISK_FULL || isFull) return
      isFull = true
      void waitForRoom()
    },
  }
}

const INSUFFICIENT_PRIVILEGE = '42501'
/** The error of a pool that was closed. */
const CONNECTION_ENDED = 'CONNECTION_ENDED'

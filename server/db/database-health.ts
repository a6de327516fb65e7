import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { sqlStateOf } from './collector.ts'

/** Why PostgreSQL refuses to write. */
export type WriteRefusal = 'disk_full' | 'read_only'

/** What failed statements say about the database as a whole. */
export interface DatabaseHealth {
  /**
   * Whether the database's disk is full: from the first statement that failed for it until there is room again. Then
   * no send may reach its marker: its outcome could not be stored.
   */
  isFull(): boolean
  /** Is called with the errors of failed statements. */
  note(error: unknown): void
}

const REFUSALS: Record<string, WriteRefusal> = { '53100': 'disk_full', '25006': 'read_only' }
const PROBE_EVERY_MS = 1_000

/** Writes four megabytes, and gives them back at its end. */
const PROBE = `create temporary table verdict_room on commit drop as
  select repeat('x', 1900) as octets from generate_series(1, 2000)`

/**
 * Why PostgreSQL refused a statement, if the whole database takes no writes. The statement changed nothing. The
 * query builder wraps the driver's errors.
 */
export function refusalOf(error: unknown): WriteRefusal | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const refusal = REFUSALS[sqlStateOf(cause)]
    if (refusal) return refusal
  }
  return undefined
}

/** `suspectServer` is called when the server is read-only. */
export function createHealth(client: Sql, suspectServer: () => void): DatabaseHealth {
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
      const refusal = refusalOf(error)
      if (refusal === 'read_only') suspectServer()
      if (refusal !== 'disk_full' || isFull) return
      isFull = true
      void waitForRoom()
    },
  }
}

const INSUFFICIENT_PRIVILEGE = '42501'
/** The error of a pool that was closed. */
const CONNECTION_ENDED = 'CONNECTION_ENDED'

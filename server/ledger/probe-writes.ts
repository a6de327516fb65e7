import { randomUUID } from 'node:crypto'
import { runEvery } from '../async/run-every.ts'
import { inTime } from '../async/timeout.ts'
import { jsonArray, sqlStateOf } from '../db/collector.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { newId } from '../db/ids.ts'
import { run } from '../db/statement.ts'
import { CLAIM, type Claim, claimRow } from './claim.ts'
import { MARK, markerRow } from './marker.ts'
import { RECORD, recordRow } from './record.ts'

// A send whose commits are rolled back. It finds what keeps sends from being stored: a lock, a trigger that fails, a
// right that was lost, the columns of another release, a day without a partition, a full disk.

const EVERY_MS = 2_000
/** A probe that takes longer has failed. Its transaction ends soon after. */
const PROBE_MS = 3_000
const LIMITS = `select set_config('lock_timeout', '1s', true), set_config('statement_timeout', '2s', true)`
/** One failure may be a fail-over, or a busy machine. */
const FAILURES = 2

/** Tells the statements of a probe from those of sends, in lists of sessions and on the wire. */
export const PROBE = '/* probe */'

class RolledBack extends Error {}

/**
 * Claims, marks and records a message of an account made for it, and rolls all back: no row, count or open transaction
 * is left. Throws what kept it from being stored.
 */
export async function probeWrites(db: Database, nowMs = Date.now()): Promise<void> {
  const probed = db.transaction(async (tx) => {
    await run(tx, LIMITS)
    await store(tx, probeClaim(nowMs))
    throw new RolledBack()
  })
  await inTime(probed, PROBE_MS).catch((error) => {
    if (!(error instanceof RolledBack)) throw error
  })
}

async function store(tx: Transaction, claim: Claim): Promise<void> {
  const { messageId, claimId } = claim
  const nothing = { reason: null, smtp: null, suppression: null, detail: null, refusal: null, entry: null }
  const outcome = {
    position: 0,
    status: 'delivered',
    retryable: false,
    in_doubt: false,
    provider: '',
    proof_of_life: false,
    address: '',
  }
  const ending = {
    status: 'delivered',
    reason: null,
    size_bytes: 0,
    digest: null,
    outcomes: [{ ...outcome, ...nothing }],
  }
  const steps: [statement: string, row: object, ...more: (number | null)[]][] = [
    [CLAIM, claimRow(claim)],
    [MARK, markerRow(messageId, claimId, [0])],
    [RECORD, recordRow(claim, ending), 0, null],
  ]
  for (const [statement, row, ...more] of steps) {
    const rows = await run(tx, `${PROBE} ${statement}`, [jsonArray([{ json: JSON.stringify(row) }]), ...more])
    // A trigger or a rule may swallow a row.
    if (rows.length !== 1) throw new Error('a row of a send was not stored')
  }
}

/** No two probes share an account, so none waits for another's statistics. */
function probeClaim(createdAtMs: number): Claim {
  const messageId = newId(createdAtMs)
  return {
    messageId,
    accountId: randomUUID(),
    claimId: randomUUID(),
    leaseMs: 10_000,
    createdAtMs,
    region: '',
    domain: '',
    request: {},
    recipients: [{ eventId: newId(createdAtMs), email: 'probe@verdict.invalid', kind: 'to' }],
    key: { scope: 'probe', key: messageId, requestHash: '' },
  }
}

export interface WritesProbe {
  /** `ok`, or `failing` with the code of PostgreSQL or of the socket: that of `checks.writes` in `/readyz`. */
  state(): string
  stop(): void
}

interface ProbeParts {
  /** The database's time. */
  now(): number
  /** Is called when the state changes: with the error, or with undefined when sends can be stored again. */
  onChange(error: unknown): void
}

/**
 * Checks now and every two seconds until stopped. A round needs no probe when sends have stored a marker and a record
 * since the last one. Two failures in a row change the state, and so does one success.
 */
export async function keepProbingWrites(db: Database, { now, onChange }: ProbeParts): Promise<WritesProbe> {
  let failures = 0
  let state = 'ok'
  const round = async () => {
    // What sends have just stored needs no probe.
    if (!db.recording.wereStored()) {
      await probeWrites(db, now())
      db.recording.proved()
    }
    failures = 0
    if (state === 'ok') return
    state = 'ok'
    onChange(undefined)
  }
  const fail = (error: unknown) => {
    db.health.note(error)
    if (++failures < FAILURES) return
    if (state === 'ok') onChange(error)
    state = `failing (${codeOf(error)})`
  }
  await round().catch(fail)
  const probing = runEvery(EVERY_MS, round, fail)
  return { state: () => state, stop: probing.stop }
}

const codeOf = (error: unknown): string => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = sqlStateOf(cause) || (cause as NodeJS.ErrnoException).code
    if (code) return code
  }
  return 'no result'
}

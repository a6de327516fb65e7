import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { collector, isRowFault, jsonArray, LANES, sqlStateOf } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { idAt } from '../db/ids.ts'
import { fail, NoAnswer, reasonOf } from '../errors.ts'
import type { FirstAttempts } from '../events/dispatches.ts'
import { eventIdOf } from '../events/history.ts'
import type { DeliveryEvent } from '../events/payload.ts'
import { inTime } from '../in-time.ts'
import { type Claim, type Claimed, claimRow, takesKeys } from './claim.ts'
import { endsSends } from './ending.ts'
import { outcomeRow, summaryRow, withoutWords } from './outcome.ts'
import { storedOutcomes } from './stored.ts'

/** Of the statistics: 0 belongs to hours that are over. Processes seldom share theirs, and then they only wait for each other. */
const FIRST_SHARD = 1 + LANES * randomInt(16)
const shardOf = (lane: number) => FIRST_SHARD + lane

const UNIQUE_VIOLATION = '23505'
const OUTCOME_COLUMNS =
  'position smallint, status text, reason text, retryable boolean, in_doubt boolean, smtp json, suppression json, strike text, strike_email text'
const OUTCOME = 'o.status, o.reason, o.retryable, o.in_doubt, o.smtp, o.suppression, o.strike, o.strike_email'

// The message row goes first and carries everything else: locks are taken in the order message, recipient everywhere.
const RECORD = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(
      message_id uuid, claim uuid, status text, reason text, size_bytes int, outcomes json)
  ),
  message as (
    delete from open_messages m using input i where m.id = i.message_id and m.claim = i.claim
    returning m.id, m.account_id, m.created_at, m.tenant_id, m.region, m.request, m.domain, false as sandbox, null::json as checks,
      i.status, i.reason, i.size_bytes, i.outcomes
  ),
  recipient as (
    delete from open_recipients o using message m where o.message_id = m.id
    returning o.message_id, o.position, o.event_id, o.email
  ),
  outcome as (
    select r.message_id, r.position, ${eventIdOf('r.event_id')} as event_id, r.email, ${OUTCOME}
    from message m
    cross join lateral json_to_recordset(m.outcomes) as o(${OUTCOME_COLUMNS})
    join recipient r on r.message_id = m.id and r.position = o.position
  ),
  ${endsSends('$2::smallint', '$3::int')}`

const SETTLE = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(
      id uuid, account_id uuid, created_at timestamptz, tenant_id text, region text, request json, domain text, sandbox boolean,
      checks json, status text, reason text, size_bytes int, recipients json, outcomes json, key_scope text, key text,
      request_hash text)
  ),
  ${takesKeys('input')},
  message as materialized (
    select * from input where key is null or id in (select message_id from taken)
  ),
  outcome as (
    select m.id as message_id, r.position, ${eventIdOf('r.event_id')} as event_id, r.email, ${OUTCOME}
    from message m
    cross join lateral json_to_recordset(m.recipients) as r(position smallint, event_id uuid, email text)
    join lateral json_to_recordset(m.outcomes) as o(${OUTCOME_COLUMNS}) on o.position = r.position
  ),
  ${endsSends('$2::smallint', '$3::int')}`

export interface Verdicts {
  claimed: Claim
  sizeBytes: number
  /** One for each recipient of the claim, in its order. */
  outcomes: RecipientOutcome[]
}

/** A message's outcomes as the statement takes them. */
function recordRow({ claimed, sizeBytes, outcomes }: Verdicts): string {
  return JSON.stringify({
    message_id: claimed.messageId,
    claim: claimed.claim,
    ...summaryRow(outcomes),
    size_bytes: sizeBytes,
    outcomes: outcomes.map(outcomeRow),
  })
}

/**
 * Record: the outcomes and their events in one commit. Returns what is stored: our outcomes, or those of the sweeper when it was
 * there first. Throws `transient_failure` when the sweeper removed the message because no marker was set, NoAnswer when nobody
 * knows by the end of the lease: the sweeper will settle it.
 */
export function recordUntil(
  db: Database,
  firstAttempts: FirstAttempts,
): (verdicts: Verdicts, leaseUntilMs: number) => Promise<RecipientOutcome[]> {
  const record = recordStep(db, firstAttempts)
  return ({ outcomes: all, ...verdicts }, leaseUntilMs) => {
    let outcomes = all
    return tryUntil(leaseUntilMs, async () => {
      try {
        if (await record({ ...verdicts, outcomes })) return outcomes
      } catch (error) {
        // What is refused for its text once is refused for ever, and recipients who have the message would be told nothing.
        if (isRowFault(error)) outcomes = all.map(withoutWords)
        throw error
      }
      const stored = await storedOutcomes(db, verdicts.claimed.messageId)
      if (stored.length > 0) return stored
      throw fail('transient_failure', 'The send took too long and was given up. Nothing was sent; it is safe to retry.')
    })
  }
}

/** A process that was paused past its lease asks once more all the same: the sweeper's answer is better than none. */
const LATE_MS = 5_000

/**
 * Tries until it is known what is stored. An error made by `fail` is the last word, after any other it may be done or not. Throws
 * NoAnswer when the time is over.
 */
async function tryUntil<T>(leaseUntilMs: number, work: () => Promise<T>): Promise<T> {
  const untilMs = Math.max(leaseUntilMs, performance.now() + LATE_MS)
  let cause: unknown
  for (let waitMs = 50; performance.now() < untilMs; waitMs = Math.min(waitMs * 2, 1_000)) {
    try {
      return await inTime(work(), untilMs - performance.now())
    } catch (error) {
      if (reasonOf(error)) throw error
      cause = error
      await sleep(waitMs)
    }
  }
  throw new NoAnswer({ cause })
}

/**
 * One record. False when the claim is no longer ours: the sweeper has settled the message, or an earlier try of ours was
 * committed. A throw means that nobody knows; running it again is safe.
 */
function recordStep(db: Database, firstAttempts: FirstAttempts): (verdicts: Verdicts) => Promise<boolean> {
  const commit = endStep(db, RECORD, firstAttempts)
  return ({ claimed, sizeBytes, outcomes }) =>
    commit({ json: recordRow({ claimed, sizeBytes, outcomes }), claim: claimed, outcomes, sandbox: false })
}

/** A send that ends, as a row of the statement that ends it. */
interface Ending {
  json: string
  claim: Claim
  outcomes: RecipientOutcome[]
  sandbox: boolean
}

/** Ends sends. True when a row was stored; from then on the first attempts of its events are made. */
function endStep(db: Database, statement: string, { leaseMs, offer }: FirstAttempts) {
  return collector<Ending, boolean>(async (rows, lane) => {
    const ended = await db.$client.unsafe<EndedRow[]>(statement, [jsonArray(rows), shardOf(lane), leaseMs], {
      prepare: true,
    })
    const byId = new Map(ended.map((row) => [row.id, row]))
    return rows.map((row) => {
      const stored = byId.get(row.claim.messageId)
      if (stored?.isDispatched) for (const event of eventsOf(row, stored.eventsAtMs)) offer(event)
      return stored !== undefined
    })
  })
}

type EndedRow = { id: string; eventsAtMs: number; isDispatched: boolean }

function eventsOf({ claim, outcomes, sandbox }: Ending, createdAtMs: number): DeliveryEvent[] {
  const { messageId, accountId } = claim
  return claim.recipients.map(({ eventId, email }, i) => {
    const { status, reason } = summaryRow([outcomes[i]!])
    return {
      id: idAt(eventId, createdAtMs),
      messageId,
      accountId,
      status,
      reason,
      recipient: email,
      sandbox,
      createdAtMs,
    }
  })
}

/** A send that never reaches SMTP, as it ends: rejected, no_mx_record, dry run. */
export interface Settled {
  outcomes: RecipientOutcome[]
  sandbox: boolean
  /** Of a dry run: JSON of its checks. */
  checks?: object[]
}

/**
 * Claim and record in one commit, for a send that never reaches SMTP. Nothing is stored when its key is another send's. Throws
 * NoAnswer when nobody knows for the time of a lease whether it is stored.
 */
export function settleStep(
  db: Database,
  firstAttempts: FirstAttempts,
): (claim: Claim, settled: Settled) => Promise<Exclude<Claimed, 'over_warm_up'>> {
  const commit = endStep(db, SETTLE, firstAttempts)
  return (claim, { outcomes, sandbox, checks }) => {
    const id = claim.messageId
    let kept = outcomes
    const row = () =>
      claimRow(claim, { ...summaryRow(kept), outcomes: kept.map(outcomeRow), size_bytes: 0, sandbox, checks })
    /** Stored by an earlier try, whose answer was lost. */
    const isStored = async () => (await storedOutcomes(db, id)).length > 0
    return tryUntil(performance.now() + claim.leaseMs, async () => {
      try {
        return (await commit({ json: row(), claim, outcomes, sandbox })) || (await isStored()) ? 'claimed' : 'key_taken'
      } catch (error) {
        const isRefused = isRowFault(error) && sqlStateOf(error) !== UNIQUE_VIOLATION
        if (isRefused && kept !== outcomes)
          throw fail('transient_failure', 'The outcome could not be stored.', { cause: error })
        if (isRefused) kept = outcomes.map(withoutWords)
        else if (await isStored()) return 'claimed'
        throw error
      }
    })
  }
}

import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { createPause } from '../async/pauses.ts'
import { byTime } from '../async/timeout.ts'
import type { DatabaseClock } from '../db/clock.ts'
import { isRowFault, sqlStateOf } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { fail, OutcomeUnknown, reasonOf } from '../errors.ts'
import type { Claim, ClaimResult } from '../ledger/claim.ts'
import type { FirstAttempts } from '../ledger/first-attempts-offer.ts'
import { isKeyTaken } from '../ledger/recipient-keys.ts'
import { createRecord } from '../ledger/record.ts'
import { isTaken } from '../ledger/retries.ts'
import { createSettle } from '../ledger/settle.ts'
import { createStandings } from '../reputation/standings.ts'
import { createStoreEnding, lastTryMs } from './endings.ts'
import { endingRow, refusedAddresses, type SentContent, withoutText } from './outcome.ts'
import { storedOutcomes } from './stored-response.ts'

// A send ends when its outcomes are stored for certain. Here the statements run until that is known.

export interface RecordedSend {
  claim: Claim
  content: SentContent
  /** One for each recipient of the claim, in its order. */
  outcomes: RecipientOutcome[]
}

/**
 * Record, the last commit of a send: stores its outcomes. Repeats the commit until its result is known, also after the
 * end of the lease. Returns the stored outcomes: ours, or those of the sweeper when it was there first. Throws
 * `transient_failure` when the sweeper removed the message because no marker was set, and OutcomeUnknown when the
 * result is still unknown at the end of the lease.
 */
export function createRecordUntilStored(
  { db, clock }: { db: Database; clock: DatabaseClock },
  firstAttempts: FirstAttempts,
  storeEnding = createStoreEnding(db),
): (send: RecordedSend, leaseUntilMs: number) => Promise<RecipientOutcome[]> {
  const record = createRecord(db, firstAttempts)
  const findStandings = createStandings({ db, clock })
  return ({ claim, content, outcomes: complete }, leaseUntilMs) => {
    let outcomes = complete
    let cause: unknown
    const refused = refusedAddresses(complete)
    const step = db.recording.begin('record')
    const store = async () => {
      const standings = refused.kinds.size === 0 ? undefined : await findStandings({ ...claim, ...refused })
      const isOurs = await record(claim, endingRow(outcomes, content, standings))
      step.stored()
      if (isOurs) return outcomes
      const stored = await storedOutcomes(db, claim.messageId)
      if (stored.length > 0) return stored
      throw fail('transient_failure', 'The send took too long and was given up. Nothing was sent; it is safe to retry.')
    }
    const stored = storeEnding(claim, leaseUntilMs, store, (error) => {
      cause = error
      if (!isRowFault(error)) return
      // PostgreSQL would refuse the text every time, and recipients who have the message would be left without an
      // outcome.
      outcomes = complete.map(withoutText)
      step.refused()
    })
    stored.catch(() => step.failed())
    return byTime(
      stored.catch((error) => {
        throw reasonOf(error) ? error : new OutcomeUnknown({ cause: error })
      }),
      lastTryMs(leaseUntilMs),
      () => new OutcomeUnknown({ cause }),
    )
  }
}

/** The outcomes of a send that never reaches SMTP. */
export interface SettledSend {
  outcomes: RecipientOutcome[]
  sandbox: boolean
  /** The checks of a dry run, as JSON. */
  checks?: object[]
}

const UNIQUE_VIOLATION = '23505'

/**
 * Settles a send that never reaches SMTP: claim and record in one commit. Stores nothing when its key belongs to
 * another send, or another send has retried a recipient. Throws OutcomeUnknown when the result is unknown for the time
 * of a lease.
 */
export function createSettleUntilStored(
  db: Database,
  firstAttempts: FirstAttempts,
): (claim: Claim, settled: SettledSend) => Promise<Exclude<ClaimResult, 'over_warm_up' | 'over_quota'>> {
  const settle = createSettle(db, firstAttempts)
  return (claim, { outcomes: complete, sandbox, checks }) => {
    let outcomes = complete
    /** True when an earlier try stored it, whose result was lost. */
    const isStored = async () => (await storedOutcomes(db, claim.messageId)).length > 0
    return tryUntil(performance.now() + claim.leaseMs, async () => {
      try {
        const isSettled = await settle(claim, { ...endingRow(outcomes), sandbox, checks })
        return isSettled || (await isStored()) ? 'claimed' : 'key_taken'
      } catch (error) {
        const isRefused = isRowFault(error) && sqlStateOf(error) !== UNIQUE_VIOLATION
        if (isRefused && outcomes !== complete)
          throw fail('transient_failure', 'The outcome could not be stored.', { cause: error })
        if (isRefused) outcomes = complete.map(withoutText)
        else if (await isStored()) return 'claimed'
        else if (isTaken(error)) return 'retried'
        else if (isKeyTaken(error)) return 'key_taken'
        throw error
      }
    })
  }
}

/**
 * Repeats `work` until it returns, and so the stored result is known. An error made by `fail` ends the repeats; after
 * any other error the result is unknown. Throws OutcomeUnknown when the time is over.
 */
async function tryUntil<T>(leaseUntilMs: number, work: () => Promise<T>): Promise<T> {
  const untilMs = lastTryMs(leaseUntilMs)
  let cause: unknown
  for (const pause = createPause(); performance.now() < untilMs; await pause()) {
    try {
      return await byTime(work(), untilMs)
    } catch (error) {
      if (reasonOf(error)) throw error
      cause = error
    }
  }
  throw new OutcomeUnknown({ cause })
}

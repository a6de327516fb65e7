import * as feedback from '../../server/inbound/feedback.ts'
import { LAST_RETRIES, REPORTED } from '../../server/inbound/reported.ts'
import { CLAIM, CLAIM_FREE, CLAIM_QUOTA, CLAIM_RETRIES } from '../../server/ledger/claim.ts'
import { MARK } from '../../server/ledger/marker.ts'
import { RECORD, RECORD_DELIVERED } from '../../server/ledger/record.ts'
import { RELEASE } from '../../server/ledger/release.ts'
import { SETTLE, SETTLE_RETRIES } from '../../server/ledger/settle.ts'
import { SWEEP } from '../../server/ledger/sweep.ts'
import { ADMIT_HALF_OPEN, BREAKER_STATES, CHANGE_BREAKER } from '../../server/reputation/breaker-state.ts'
import { MONTHLY_VOLUME } from '../../server/reputation/quota.ts'
import { FIND_SUPPRESSIONS } from '../../server/reputation/suppression.ts'
import { DAILY_VOLUME } from '../../server/reputation/warm-up.ts'
import { CLAIM_BATCH, FIND_BATCH, RELEASE_BATCH, STORE_BATCH_RESPONSE } from '../../server/sending/batch-idempotency.ts'
import { FIND_KEYS } from '../../server/sending/idempotency.ts'
import { FIND_RETRIED } from '../../server/sending/retry.ts'
import { STORED_OUTCOMES, STORED_SENDS } from '../../server/sending/stored-response.ts'
import {
  FIND_LAST_RETRY,
  FIND_RECIPIENT_KEYS,
  GIVE_RECIPIENT_KEYS,
  RENEW_RECIPIENT_KEYS,
  TAKE_RECIPIENT_KEYS_AWAY,
} from '../../server/smtp-front/held-keys.ts'
import * as begin from '../../server/webhooks/attempt/begin.ts'
import * as end from '../../server/webhooks/attempt/end.ts'
import { GIVE_UP_LEASE } from '../../server/webhooks/queue/dispatcher.ts'
import * as handOver from '../../server/webhooks/queue/hand-over.ts'
import * as revive from '../../server/webhooks/queue/revive.ts'
import { DISPATCH_RANGE } from '../../server/webhooks/replays/range-replays.ts'
import * as replay from '../../server/webhooks/replays/replay.ts'

/** A statement that a send or an event runs, in docs/statements.sql. */
interface Statement {
  name: string
  /** One sentence, at most 117 characters. */
  does: string
  sql: string
}

const SENDING: Statement[] = [
  { name: 'find-keys', does: 'Finds the sends that have these idempotency keys.', sql: FIND_KEYS },
  {
    name: 'find-recipient-keys',
    does: 'Finds the last messages to recipients of messages that came over SMTP.',
    sql: FIND_RECIPIENT_KEYS,
  },
  {
    name: 'renew-recipient-keys',
    does: 'Renews the keys of recipients before a retry.',
    sql: RENEW_RECIPIENT_KEYS,
  },
  {
    name: 'give-recipient-keys',
    does: 'Gives keys to recipients of a message after their answers, or when its client leaves.',
    sql: GIVE_RECIPIENT_KEYS,
  },
  {
    name: 'find-last-retry',
    does: 'Finds the message that a repeat waited for, after its key was taken away.',
    sql: FIND_LAST_RETRY,
  },
  {
    name: 'take-recipient-keys-away',
    does: 'Takes keys away that have led a repeat to its answer.',
    sql: TAKE_RECIPIENT_KEYS_AWAY,
  },
  { name: 'find-retried', does: 'Reads the message that a send retries.', sql: FIND_RETRIED },
  { name: 'daily-volume', does: 'Reads how many emails a warming-up domain has sent today.', sql: DAILY_VOLUME },
  {
    name: 'monthly-volume',
    does: 'Reads how many emails an account with a quota has sent this month.',
    sql: MONTHLY_VOLUME,
  },
  { name: 'breaker-states', does: "Reads the circuit breakers of an account's domains.", sql: BREAKER_STATES },
  {
    name: 'change-breaker',
    does: 'Changes the state of a circuit breaker that is as it was read.',
    sql: CHANGE_BREAKER,
  },
  { name: 'admit-half-open', does: "Counts emails in a half-open breaker's minute.", sql: ADMIT_HALF_OPEN },
  { name: 'find-suppressions', does: 'Finds the widest suppression entry of each address.', sql: FIND_SUPPRESSIONS },
  { name: 'claim', does: 'Claims sends: message, recipients, idempotency key, warm-up and lease.', sql: CLAIM },
  { name: 'claim-free', does: 'Claims sends that have neither an idempotency key nor a warm-up.', sql: CLAIM_FREE },
  {
    name: 'claim-quota',
    does: 'The same for accounts with a quota: it is locked, checked and counted.',
    sql: CLAIM_QUOTA,
  },
  { name: 'claim-retries', does: 'Claims sends that retry recipients of earlier messages.', sql: CLAIM_RETRIES },
  { name: 'marker', does: 'Says, just before the final dot, that recipients may have the message.', sql: MARK },
  { name: 'record', does: 'Ends claimed sends with the outcomes of their recipients.', sql: RECORD },
  { name: 'record-delivered', does: 'Ends claimed sends whose emails were all delivered.', sql: RECORD_DELIVERED },
  { name: 'settle', does: 'Claims and records sends that never reach SMTP.', sql: SETTLE },
  {
    name: 'settle-retries',
    does: 'The same for sends that retry recipients of earlier messages.',
    sql: SETTLE_RETRIES,
  },
  { name: 'release', does: 'Deletes a claim without a marker, as if the request had never come.', sql: RELEASE },
  { name: 'sweep', does: 'Settles or releases the sends whose lease is over.', sql: SWEEP },
  { name: 'stored-sends', does: 'Reads sends from history, for repeats with their keys.', sql: STORED_SENDS },
  { name: 'stored-outcomes', does: 'Reads the outcomes of sends, for repeats with their keys.', sql: STORED_OUTCOMES },
  { name: 'find-batch', does: 'Finds the batch that has this idempotency key.', sql: FIND_BATCH },
  { name: 'claim-batch', does: 'Claims the idempotency key of a batch, with a lease.', sql: CLAIM_BATCH },
  { name: 'store-batch-response', does: 'Stores the response of a batch under its key.', sql: STORE_BATCH_RESPONSE },
  { name: 'release-batch', does: 'Ends the lease of a batch that may run again.', sql: RELEASE_BATCH },
]

const WEBHOOKS: Statement[] = [
  { name: 'begin-first-attempts', does: 'Reads where the first attempts of new dispatches go.', sql: begin.FIRST },
  { name: 'begin-attempts', does: 'Begins later attempts of dispatches, made by workflows.', sql: begin.BEGIN },
  { name: 'give-attempt-back', does: 'Undoes the beginning of an attempt that was not made.', sql: begin.UNDO_BEGIN },
  { name: 'read-events', does: 'Reads events from history, to post them.', sql: begin.EVENTS },
  { name: 'end-attempts', does: 'Stores the outcomes of attempts and ends acknowledged dispatches.', sql: end.END },
  { name: 'finish-dispatches', does: 'Ends dispatches that are exhausted or cancelled.', sql: end.FINISH },
  { name: 'give-up-leases', does: 'Leaves first attempts that were not made to Temporal.', sql: GIVE_UP_LEASE },
  { name: 'give-up-lost', does: 'Leaves dispatches to Temporal whose lease is over.', sql: handOver.END_LOST_LEASES },
  { name: 'cancel-orphans', does: 'Cancels dispatches whose endpoint was deleted.', sql: handOver.CANCEL_ORPHANS },
  { name: 'unassigned-dispatches', does: 'Reads dispatches that have no workflow yet.', sql: handOver.UNASSIGNED },
  { name: 'assign-dispatches', does: 'Stores which workflows take dispatches on.', sql: handOver.ASSIGN },
  { name: 'assigned-dispatches', does: 'Reads dispatches whose workflow may not be started.', sql: handOver.ASSIGNED },
  { name: 'handed-over', does: 'Stores that workflows are started.', sql: handOver.MARK_HANDED_OVER },
  { name: 'still-open', does: 'Finds waiting dispatches of terminated workflows.', sql: revive.STILL_OPEN },
  { name: 'overdue-workflows', does: 'Finds workflows whose dispatches are overdue.', sql: revive.CLAIM_OVERDUE },
  { name: 'revive-dispatches', does: 'Assigns the dispatches of closed workflows anew.', sql: revive.REVIVE },
  { name: 'open-replay', does: 'Creates the dispatches of a replay.', sql: replay.OPEN },
  {
    name: 'dispatch-range',
    does: 'Makes one step of a replay of many events: creates dispatches and moves the replay on.',
    sql: DISPATCH_RANGE,
  },
  { name: 'withdraw-replay', does: 'Deletes the dispatches of a replay that was not started.', sql: replay.WITHDRAW },
]

const REPORTS: Statement[] = [
  { name: 'last-retries', does: 'Finds the last retries of the recipients of a message.', sql: LAST_RETRIES },
  { name: 'find-reported', does: 'Reads the messages that a late bounce or a complaint can be about.', sql: REPORTED },
  { name: 'lock-reported', does: 'Makes the reports to one return path wait for each other.', sql: feedback.LOCK },
  { name: 'keep-feedback', does: 'Stores a late bounce or a complaint, and what follows from it.', sql: feedback.KEEP },
]

export const STATEMENTS: readonly Statement[] = [...SENDING, ...WEBHOOKS, ...REPORTS]

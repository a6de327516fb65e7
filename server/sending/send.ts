import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { MailSources } from '../../mail/smtp/attempt.ts'
import { leaseOf, type OperatorLimits } from '../config/limits.ts'
import { away, inFlight } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { newId } from '../db/ids.ts'
import { isLost, stepInTime, throughOutage } from '../db/outage.ts'
import type { SenderDomain, SenderDomains } from '../domains/sender.ts'
import { poolOf } from '../domains/sending-pool.ts'
import { fail, OutcomeUnknown } from '../errors.ts'
import { type Claim, createClaim, type KeyToTake } from '../ledger/claim.ts'
import type { FirstAttempts } from '../ledger/first-attempts-offer.ts'
import { createMarker } from '../ledger/marker.ts'
import { release } from '../ledger/release.ts'
import type { Retry } from '../ledger/retries.ts'
import { monthQuota } from '../reputation/quota.ts'
import { warmUpDay } from '../reputation/warm-up.ts'
import { step, type Trace } from '../telemetry/tracing.ts'
import {
  addressCanBeMailed,
  addressIsNotSuppressed,
  breakerAllows,
  type CheckContext,
  type CheckedRecipient,
  countedRecipients,
  domainIsVerified,
  exchangerIsKnown,
  overQuota,
  overWarmUp,
  quotaAllows,
  type Rules,
  type SimulatorRoute,
  warmUpAllows,
} from './checks.ts'
import { type ComposedMessage, compose, storedRequest } from './compose.ts'
import { type DeliveryResult, deliver } from './deliver.ts'
import { ownDomain } from './domain-right.ts'
import { createStoreEnding } from './endings.ts'
import type { Message } from './message.ts'
import { delivered, simulatedOutcome } from './outcome.ts'
import { type Bodies, bodiesAside } from './raw.ts'
import { createRetryLookup } from './retry.ts'
import { type DryRunCheck, sendResponse } from './send-response.ts'
import { storedOutcomes } from './stored-response.ts'
import { createRecordUntilStored } from './until-stored.ts'
import { createEndWithoutSmtp, PAYLOAD_IS_VALID, rejectedForDomain } from './without-smtp.ts'

// The recipe of a send. What it calls, in this order:
//
//   idempotency.ts   a stored response for the key, or the one that runs (around the recipe: services/emails/emails.ts)
//   message.ts       every field of the request, checked
//   retry.ts         what the message retries, when it has `retry_of`
//   checks.ts        domain, warm-up, breaker, address, suppression, mail servers; without-smtp.ts ends a send there
//   ledger/claim.ts  first commit, while compose.ts builds and signs the message
//   deliver.ts       SMTP, with ledger/marker.ts just before each final dot: second commit
//   until-stored.ts  third commit, repeated until its result is certain
//   send-response.ts what the caller gets; batch.ts maps over all of it

export type Send = (message: Message, options: SendOptions) => Promise<SendResponse | undefined>

export interface SendOptions {
  accountId: string
  /** A dry run: everything is checked, nothing is sent. */
  sandbox: boolean
  /** In a batch a From domain that is not the account's rejects the message like any other check. */
  inBatch?: boolean
  /** The idempotency key this send takes with its claim. */
  key?: KeyToTake
  /** The keys that its recipients take with its claim, in their order. */
  recipientKeys?: readonly string[][]
  /** Called with the message's id when it is claimed: it is being sent. A later fault may release it. */
  onClaim?(messageId: string): void
  /** Called when the message goes to mail servers: its work waits for them. */
  endWork?(): void
  /** Aborts when the caller has given up. Honoured until the marker. */
  signal: AbortSignal
  /** The steps of the send become spans of it, and the attempts of its events continue it. */
  trace?: Trace
}

export interface SendParts extends Rules {
  simulated: SimulatorRoute
  db: Database
  senderDomains: SenderDomains
  /** Makes the first attempts of a send's events. */
  firstAttempts: FirstAttempts
  /** Whether the quotas of tiers hold; true by default. */
  hasQuotas?: boolean
  /** Read at each send: the operator may change them. */
  limits: Pick<OperatorLimits, 'warmUp' | 'tiers' | 'defaultTier'>
  /** The addresses of a pool that mail may leave from; throws when there are none. */
  poolSources(pool: string): Promise<MailSources>
  /** The envelope sender of a message to the recipients of a domain; `position` is that of the first of them. */
  returnPath(messageId: string, position: number, domain: SenderDomain): string
  region: string
  sendBudgetMs: number
  storeContent: boolean
}

/** In the order in which they run. The first check that refuses a recipient decides its outcome. */
export const CHECKS = [
  { name: 'domain', check: domainIsVerified },
  { name: 'warm_up', check: warmUpAllows },
  { name: 'quota', check: quotaAllows },
  { name: 'breaker', check: breakerAllows },
  { name: 'address', check: addressCanBeMailed },
  { name: 'suppression', check: addressIsNotSuppressed },
  { name: 'recipient_mx', check: exchangerIsKnown },
]

/**
 * The steps of one send: checks -> claim -> SMTP, with the marker just before the final dot -> record. Claim, marker
 * and record are one commit each; no connection of the database is held in between. Throws `domain_not_verified` when
 * the From domain is not the account's, `transient_failure` for faults of our own before any marker, and
 * OutcomeUnknown when the outcome cannot be recorded.
 */
export function createSend(parts: SendParts): Send {
  const steps = createSteps(parts)
  return async (message, options) => {
    let beganAtMs: number | undefined
    for (;;) {
      // Until its claim is certain, a send has sent nothing. When the database moves to another server before that, a
      // claim whose result was lost is released, and the send begins again.
      const response = await throughOutage(parts.db, () => send(steps, message, options, beganAtMs), isCutOff)
      // Another message has just retried a recipient. The next look-up names it, unless it was released.
      if (response === 'retried') continue
      if (!response || !('beganAtMs' in response)) return response
      // No marker could be stored, so no dot was sent, and the claim is released.
      beganAtMs = response.beganAtMs
      await sleep(BEFORE_NEXT_TRY_MS)
    }
  }
}

type Steps = ReturnType<typeof createSteps>
type SendContext = Steps & CheckContext

function createSteps(parts: SendParts) {
  const { db, clock, firstAttempts } = parts
  const storeEnding = createStoreEnding(db)
  return {
    ...parts,
    claimSend: createClaim(db),
    mark: createMarker(db),
    storeEnding,
    record: createRecordUntilStored(parts, firstAttempts, storeEnding),
    withoutSmtp: createEndWithoutSmtp(db, firstAttempts),
    findRetry: createRetryLookup(db, clock),
  }
}

async function send(steps: Steps, message: Message, options: SendOptions, startedAtMs = performance.now()) {
  const { accountId, sandbox, inBatch, signal, trace } = options
  const { senderDomains, clock, limits, hasQuotas = true, withoutSmtp } = steps
  const { retryOf, tenantId } = message
  const { domain: name } = message.from
  const domain = inBatch ? await senderDomains.find(accountId, name) : await ownDomain(senderDomains, accountId, name)
  const retry = retryOf
    ? await step(trace, 'find retry', () => steps.findRetry(retryOf, message, { accountId, sandbox }))
    : undefined
  const bodies = steps.storeContent ? await bodiesToStore(message, accountId) : undefined
  const claimOf = () => newClaim(steps, { message, bodies }, options, sandbox ? undefined : retry)
  if (!domain) return withoutSmtp(claimOf(), rejectedForDomain(message), sandbox)

  const warmUp = warmUpDay(domain, clock.now(), limits.warmUp)
  const quota = hasQuotas ? monthQuota(domain.tier, limits, clock.now()) : undefined
  const recipients: CheckedRecipient[] = message.recipients.map((recipient) => ({
    ...recipient,
    simulated: steps.simulated(recipient.address),
  }))
  const context = { ...steps, accountId, tenantId, sandbox, domain, warmUp, quota, startedAtMs, signal }
  const checks = await runChecks(recipients, context, trace)
  const claim = claimOf()
  if (sandbox || recipients.every((recipient) => recipient.outcome)) {
    const outcomes = recipients.map((recipient) => recipient.outcome ?? withoutSending(recipient))
    return step(trace, 'settle', () => withoutSmtp(claim, { outcomes, checks }, sandbox))
  }

  const pool = poolOf(domain, limits)
  const sources = pool === undefined ? undefined : await steps.poolSources(pool)
  const copies = countedRecipients(recipients)
  if (warmUp && copies > 0) claim.warmUp = { day: warmUp.date, dailyLimit: warmUp.dailyLimit, copies }
  if (quota && copies > 0) claim.quota = { month: quota.month, monthlyLimit: quota.monthlyLimit, copies }
  const leaseUntilMs = performance.now() + claim.leaseMs
  const composed = await claimAndCompose(context, claim, message, trace)
  if (composed === 'key_taken') return undefined
  if (composed === 'retried') return composed
  options.onClaim?.(claim.messageId)
  options.endWork?.()
  return deliverAndRecord(context, message, { claim, composed, recipients, sources, leaseUntilMs }, trace)
}

/** The first commit, while the message is built. Nothing stays of the claim of a message that cannot be built. */
async function claimAndCompose(context: SendContext, claim: Claim, message: Message, trace?: Trace) {
  const { db, clock, domain, quota, warmUp } = context
  const claimed = step(trace, 'claim', () => context.claimSend(claim))
  const [claiming, composing] = await Promise.allSettled([claimed, compose(message, domain, claim)])
  if (claiming.status === 'rejected') {
    if (isLost(claiming.reason)) await throughOutage(db, () => release(db, claim.messageId, claim.claimId))
    throw claiming.reason
  }
  if (claiming.value === 'key_taken' || claiming.value === 'retried') return claiming.value
  if (claiming.value === 'over_quota') throw overQuota(quota!, clock)
  if (claiming.value === 'over_warm_up') throw overWarmUp(domain.name, warmUp!, clock)
  if (composing.status === 'fulfilled') return composing.value
  await undo(context, claim)
  throw composing.reason
}

interface ClaimedSend {
  claim: Claim
  composed: ComposedMessage
  recipients: CheckedRecipient[]
  sources: MailSources | undefined
  leaseUntilMs: number
}

/** SMTP, with the second commit just before each final dot, and the third commit. */
async function deliverAndRecord(context: SendContext, { from }: Message, sending: ClaimedSend, trace?: Trace) {
  const { db, engine, domain, accountId, startedAtMs, signal } = context
  const { claim, composed, recipients, sources } = sending
  const { messageId, claimId, retry } = claim
  const delivery = {
    returnPath: (position: number) =>
      retry
        ? context.returnPath(retry.firstId, retry.recipients[position]!.senderPosition, domain)
        : context.returnPath(messageId, position, domain),
    from: [from.address, from.domain],
    content: composed.content,
    accountId,
    startedAtMs,
    budgetMs: context.sendBudgetMs,
    sources,
    reference: messageId,
    signal,
  }
  const { outcomes, ...ours } = await step(trace, 'smtp', (smtp) => {
    const markSend = (positions: number[], takenBack: number[], until: AbortSignal) =>
      step(smtp, 'marker', () => inFlight(db.load, () => context.mark(messageId, claimId, positions, takenBack, until)))
    return away(db.load, () => deliver(engine, recipients, markSend, delivery, smtp))
  }).catch((cause) => giveUp(context, claim, cause))
  if (ours.fault) return endUnsent(context, claim, ours)
  const ended = { claim, content: composed, outcomes }
  return sendResponse(claim, await step(trace, 'record', () => context.record(ended, sending.leaseUntilMs)))
}

/** After a fault of ours before any dot. Returns `beganAtMs` when the send may begin again. */
async function endUnsent(context: SendContext, claim: Claim, { fault, isWithoutLeave }: OwnFault) {
  const { db, startedAtMs } = context
  const isReleased = await undo(context, claim, { isUnsent: true })
  // The lease was over, and the sweeper was here first.
  const swept = isReleased ? [] : await storedOutcomes(db, claim.messageId).catch(() => [])
  if (swept.length > 0) return sendResponse(claim, swept)
  // The engine ends a send whose budget has no time left.
  if (isReleased && isWithoutLeave) return { beganAtMs: startedAtMs }
  throw fail('transient_failure', `${fault}. Nothing was sent; it is safe to retry.`)
}

/** After an unexpected fault: a claim that cannot be released may have been sent, and the sweeper will settle it. */
async function giveUp(steps: Steps, claim: Claim, cause: unknown): Promise<never> {
  throw (await undo(steps, claim)) ? cause : new OutcomeUnknown({ cause })
}

/** A release that is not stored in time goes on without its caller, whose response stays the same. */
function undo({ db, storeEnding }: Steps, claim: Claim, options?: { isUnsent: boolean }): Promise<boolean> {
  const { messageId, claimId, leaseMs } = claim
  const untilMs = performance.now() + leaseMs
  const released = storeEnding(claim, untilMs, () => release(db, messageId, claimId, options))
  return stepInTime(db, released).catch(() => false)
}

type OwnFault = Pick<DeliveryResult, 'fault' | 'isWithoutLeave'>

const BEFORE_NEXT_TRY_MS = 250

/** Whether a send may begin again: nothing was sent, and the database was lost. */
const isCutOff = (error: unknown) => !(error instanceof OutcomeUnknown) && isLost(error)

/** Runs the checks in order until every recipient has an outcome. */
async function runChecks(recipients: CheckedRecipient[], context: CheckContext, trace?: Trace): Promise<DryRunCheck[]> {
  const results = [PAYLOAD_IS_VALID]
  for (const { name, check } of CHECKS) {
    const undecided = recipients.filter((recipient) => !recipient.outcome)
    if (undecided.length === 0) break
    const refusals = await step(trace, `check ${name}`, () => check(undecided, context))
    undecided.forEach((recipient, i) => {
      recipient.outcome = refusals[i]?.outcome
    })
    const refusal = refusals.find((refusal) => refusal)
    results.push({ name, passed: !refusal, detail: refusal?.detail })
  }
  return results
}

async function bodiesToStore({ raw, html, text }: Message, accountId: string): Promise<Bodies> {
  return raw ? bodiesAside(accountId, { source: raw.source, parts: raw.parts }) : { html, text }
}

function newClaim(
  { clock, region, sendBudgetMs }: SendParts,
  { message, bodies }: { message: Message; bodies?: Bodies },
  { accountId, key, recipientKeys, trace }: SendOptions,
  retry: Retry | undefined,
): Claim {
  const createdAtMs = clock.now()
  return {
    messageId: newId(createdAtMs),
    accountId,
    claimId: randomUUID(),
    leaseMs: leaseOf(sendBudgetMs),
    createdAtMs,
    tenantId: message.tenantId,
    region,
    domain: message.from.domain,
    request: storedRequest(message, bodies),
    recipients: message.recipients.map(({ address, kind }) => ({
      eventId: newId(createdAtMs),
      email: address.address,
      kind,
    })),
    key,
    recipientKeys,
    retry,
    traceparent: trace?.traceparent,
  }
}

/** The outcome that a dry run shows for a recipient that passed all checks. */
function withoutSending(recipient: CheckedRecipient): RecipientOutcome {
  const outcome = recipient.simulated?.outcome
  return outcome ? simulatedOutcome(recipient, outcome) : delivered(recipient)
}

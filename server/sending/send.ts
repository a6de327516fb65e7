import { randomUUID } from 'node:crypto'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type CheckSchema, type SendResponse, SendResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { newId, showId } from '../db/ids.ts'
import type { SenderDomain, SenderDomains } from '../domains/sender.ts'
import { fail } from '../errors.ts'
import type { Engine } from '../smtp/attempt.ts'
import {
  addressCanBeMailed,
  addressIsNotSuppressed,
  type CheckContext,
  domainIsVerified,
  exchangerIsKnown,
  type Recipient,
  type SimulatorRoute,
} from './checks.ts'
import { type Claim, claimStep } from './claim.ts'
import { compose, storedRequest } from './compose.ts'
import { deliver } from './deliver.ts'
import { markerStep } from './marker.ts'
import type { Message } from './message.ts'
import { delivered, simulatedOutcome, summarise } from './outcome.ts'
import { recordUntil, settleStep } from './record.ts'
import { release } from './release.ts'

export type Send = (message: Message, options: SendOptions) => Promise<SendResponse>

export interface SendOptions {
  accountId: string
  /** A dry run: everything is checked, nothing is sent. */
  sandbox: boolean
  /** Aborts when the caller gave up. Honoured until the marker. */
  signal: AbortSignal
}

export interface SendParts {
  db: Database
  clock: DatabaseClock
  engine: Engine
  senderDomains: SenderDomains
  simulated: SimulatorRoute
  hasStaticRoute(domain: string): boolean
  /** The envelope sender of a message. */
  returnPath(messageId: string, domain: SenderDomain): string
  region: string
  sendBudgetMs: number
  storeContent: boolean
}

/** In the order they are made; the first that refuses a recipient decides it. Warm-up and breaker belong behind `domain`. */
const CHECKS = [
  { name: 'domain', check: domainIsVerified },
  { name: 'address', check: addressCanBeMailed },
  { name: 'suppression', check: addressIsNotSuppressed },
  { name: 'recipient_mx', check: exchangerIsKnown },
]

/** The lease outlives the send's budget by this much: time for the record. */
const LEASE_MARGIN_MS = 10_000

/**
 * The way of one send: checks -> claim -> SMTP, with the marker just before the final dot -> record. Each of the three is one
 * commit; no connection of the database is held in between. Throws `domain_not_verified` when the From domain is not the
 * account's, `transient_failure` for faults of our own before any marker, and NoAnswer when the outcome cannot be recorded.
 */
export function createSend(parts: SendParts): Send {
  const { db, engine } = parts
  const claim = claimStep(db)
  const mark = markerStep(db)
  const record = recordUntil(db)
  const settle = settleStep(db)

  return async function send(message, { accountId, sandbox, signal }) {
    const startedAtMs = performance.now()
    const domain = await parts.senderDomains.find(accountId, message.from.domain)
    if (!domain) throw notADomainOfTheAccount(message.from.domain)

    const recipients: Recipient[] = message.to.map((address) => ({ address }))
    const checks = await makeChecks(recipients, { ...parts, domain, signal })
    const claimed = newClaim(parts, message, accountId)

    if (sandbox || recipients.every((recipient) => recipient.outcome)) {
      const outcomes = recipients.map((recipient) => recipient.outcome ?? withoutSending(recipient, parts.simulated))
      await settle(claimed, outcomes, sandbox)
      return answer(claimed.messageId, outcomes, sandbox ? checks : undefined)
    }

    const leaseUntilMs = performance.now() + claimed.leaseMs
    const [claiming, composing] = await Promise.allSettled([claim(claimed), compose(message, domain, claimed)])
    if (claiming.status === 'rejected') throw claiming.reason
    if (composing.status === 'rejected') {
      await undo(claimed)
      throw composing.reason
    }
    const composed = composing.value

    const markOurs = (positions: number[]) => mark(claimed.messageId, claimed.claim, positions)
    const { marked, outcomes, fault } = await deliver(engine, recipients, markOurs, {
      sender: parts.returnPath(claimed.messageId, domain),
      content: composed.content,
      startedAtMs,
      budgetMs: parts.sendBudgetMs,
      signal,
    })
    if (fault && !marked) {
      await undo(claimed)
      throw fail('transient_failure', `${fault}. Nothing was sent; it is safe to retry.`)
    }
    const verdicts = { messageId: claimed.messageId, claim: claimed.claim, sizeBytes: composed.sizeBytes, outcomes }
    return answer(claimed.messageId, await record(verdicts, leaseUntilMs))
  }

  /** A release that fails leaves the claim to the sweeper; what the caller is told stays the same. */
  function undo({ messageId, claim }: Claim): Promise<boolean> {
    return release(db, messageId, claim).catch(() => false)
  }
}

type DryRunCheck = MessageInitShape<typeof CheckSchema>

/** Walks the checks until every recipient is decided or none is left. What stands here as `payload` has passed by now. */
async function makeChecks(recipients: Recipient[], context: CheckContext): Promise<DryRunCheck[]> {
  const made: DryRunCheck[] = [{ name: 'payload', passed: true }]
  for (const { name, check } of CHECKS) {
    const open = recipients.filter((recipient) => !recipient.outcome)
    if (open.length === 0) break
    const refusals = await Promise.all(open.map((recipient) => check(recipient, context)))
    open.forEach((recipient, i) => {
      recipient.outcome = refusals[i]?.outcome
    })
    const refusal = refusals.find((refusal) => refusal)
    made.push({ name, passed: !refusal, detail: refusal?.detail })
  }
  return made
}

function newClaim(
  { clock, region, sendBudgetMs, storeContent }: SendParts,
  message: Message,
  accountId: string,
): Claim {
  const createdAtMs = clock.now()
  return {
    messageId: newId(createdAtMs),
    accountId,
    claim: randomUUID(),
    leaseMs: sendBudgetMs + LEASE_MARGIN_MS,
    createdAtMs,
    tenantId: message.tenantId,
    region,
    request: storedRequest(message, storeContent),
    recipients: message.to.map(({ address }) => ({ eventId: newId(createdAtMs), email: address })),
  }
}

function answer(messageId: string, outcomes: RecipientOutcome[], checks?: DryRunCheck[]): SendResponse {
  const only = outcomes.length === 1 ? outcomes[0]! : undefined
  return create(SendResponseSchema, {
    messageId: showId('msg', messageId),
    ...summarise(outcomes),
    retryable: only?.retryable,
    smtp: only?.smtp,
    recipients: only ? [] : outcomes,
    sandbox: checks ? true : undefined,
    checks,
  })
}

/** What a dry run says of a recipient that nothing stood against. */
function withoutSending({ address }: Recipient, simulated: SimulatorRoute): RecipientOutcome {
  const outcome = simulated(address)?.outcome
  return outcome ? simulatedOutcome(address.address, outcome) : delivered(address.address)
}

function notADomainOfTheAccount(domain: string) {
  return fail(
    'domain_not_verified',
    `${domain} is not a domain of this account. Add and verify it, or send from another.`,
    {
      fields: [{ field: 'from', message: `${domain} is not a domain of this account` }],
    },
  )
}

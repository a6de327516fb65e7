import { randomUUID } from 'node:crypto'
import type { SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { leaseOf } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { newId } from '../db/ids.ts'
import type { SenderDomain, SenderDomains } from '../domains/sender.ts'
import { fail, NoAnswer } from '../errors.ts'
import type { FirstAttempts } from '../events/dispatches.ts'
import { warmUpDay } from '../reputation/warm-up.ts'
import { answer, type DryRunCheck } from './answer.ts'
import {
  addressCanBeMailed,
  addressIsNotSuppressed,
  breakerAllows,
  type CheckContext,
  countedEmails,
  domainIsVerified,
  exchangerIsKnown,
  overWarmUp,
  type Recipient,
  type Rules,
  type SimulatorRoute,
  warmUpAllows,
} from './checks.ts'
import { type Claim, claimStep, type KeyToTake } from './claim.ts'
import { compose, storedRequest } from './compose.ts'
import { deliver } from './deliver.ts'
import { markerStep } from './marker.ts'
import type { Message } from './message.ts'
import { delivered, simulatedOutcome } from './outcome.ts'
import { recordUntil } from './record.ts'
import { release } from './release.ts'
import { endWithoutSmtp, PAYLOAD_IS_GOOD, rejectedForDomain } from './without-smtp.ts'

export type Send = (message: Message, options: SendOptions) => Promise<SendResponse | undefined>

export interface SendOptions {
  accountId: string
  /** A dry run: everything is checked, nothing is sent. */
  sandbox: boolean
  /** In a batch a From domain that is not the account's is a rejection like any other. */
  inBatch?: boolean
  /** The idempotency key this send takes with its claim. */
  key?: KeyToTake
  /** Aborts when the caller gave up. Honoured until the marker. */
  signal: AbortSignal
}

export interface SendParts extends Rules {
  db: Database
  senderDomains: SenderDomains
  /** Takes the events of a send over as they are stored. */
  firstAttempts: FirstAttempts
  /** Emails a day of a domain that warms up, from its first day on. */
  warmUpSteps: readonly number[]
  /** The envelope sender of a message. */
  returnPath(messageId: string, domain: SenderDomain): string
  region: string
  sendBudgetMs: number
  storeContent: boolean
}

/** In the order they are made; the first that refuses a recipient decides it. */
const CHECKS = [
  { name: 'domain', check: domainIsVerified },
  { name: 'warm_up', check: warmUpAllows },
  { name: 'breaker', check: breakerAllows },
  { name: 'address', check: addressCanBeMailed },
  { name: 'suppression', check: addressIsNotSuppressed },
  { name: 'recipient_mx', check: exchangerIsKnown },
]

/**
 * The way of one send: checks -> claim -> SMTP, with the marker just before the final dot -> record. Each of the three is one
 * commit; no connection of the database is held in between. Throws `domain_not_verified` when the From domain is not the
 * account's, `transient_failure` for faults of our own before any marker, and NoAnswer when the outcome cannot be recorded.
 */
export function createSend(parts: SendParts): Send {
  const { db, engine } = parts
  const claim = claimStep(db)
  const mark = markerStep(db)
  const record = recordUntil(db, parts.firstAttempts)
  const withoutSmtp = endWithoutSmtp(db, parts.firstAttempts)

  return async function send(message, { accountId, sandbox, inBatch, key, signal }) {
    const startedAtMs = performance.now()
    const domain = await parts.senderDomains.find(accountId, message.from.domain)
    if (!domain && !inBatch) throw notADomainOfTheAccount(message.from.domain)
    if (!domain) return withoutSmtp(newClaim(parts, message, accountId, key), rejectedForDomain(message), sandbox)
    const warmUp = warmUpDay(domain, parts.clock.now(), parts.warmUpSteps)

    const recipients: Recipient[] = message.to.map((address) => ({ address }))
    const { tenantId } = message
    const checks = await makeChecks(recipients, {
      ...parts,
      accountId,
      tenantId,
      sandbox,
      domain,
      warmUp,
      startedAtMs,
      signal,
    })
    const claimed = newClaim(parts, message, accountId, key)

    if (sandbox || recipients.every((recipient) => recipient.outcome)) {
      const outcomes = recipients.map((recipient) => recipient.outcome ?? withoutSending(recipient, parts.simulated))
      return withoutSmtp(claimed, { outcomes, checks }, sandbox)
    }

    const emails = countedEmails(recipients, parts)
    if (warmUp && emails > 0) claimed.warmUp = { day: warmUp.date, dailyLimit: warmUp.dailyLimit, emails }
    const leaseUntilMs = performance.now() + claimed.leaseMs
    const [claiming, composing] = await Promise.allSettled([claim(claimed), compose(message, domain, claimed)])
    if (claiming.status === 'rejected') throw claiming.reason
    if (claiming.value === 'key_taken') return undefined
    if (claiming.value === 'over_warm_up') throw overWarmUp(domain.name, warmUp!, parts.clock)
    if (composing.status === 'rejected') {
      await undo(claimed)
      throw composing.reason
    }
    const composed = composing.value

    const markOurs = (positions: number[]) => mark(claimed.messageId, claimed.claim, positions)
    const { marked, outcomes, fault } = await deliver(engine, recipients, markOurs, {
      sender: parts.returnPath(claimed.messageId, domain),
      content: composed.content,
      turn: accountId,
      startedAtMs,
      budgetMs: parts.sendBudgetMs,
      reference: claimed.messageId,
      signal,
    }).catch((cause) => giveUp(claimed, cause))
    if (fault && !marked) {
      await undo(claimed)
      throw fail('transient_failure', `${fault}. Nothing was sent; it is safe to retry.`)
    }
    return answer(claimed.messageId, await record({ claimed, sizeBytes: composed.sizeBytes, outcomes }, leaseUntilMs))
  }

  /** After a fault that nobody expected: what cannot be released may have been sent, and the sweeper will say so. */
  async function giveUp(claimed: Claim, cause: unknown): Promise<never> {
    throw (await undo(claimed)) ? cause : new NoAnswer({ cause })
  }

  /** A release that fails leaves the claim to the sweeper; what the caller is told stays the same. */
  function undo({ messageId, claim }: Claim): Promise<boolean> {
    return release(db, messageId, claim).catch(() => false)
  }
}

/** Walks the checks until every recipient is decided or none is left. */
async function makeChecks(recipients: Recipient[], context: CheckContext): Promise<DryRunCheck[]> {
  const made = [PAYLOAD_IS_GOOD]
  for (const { name, check } of CHECKS) {
    const open = recipients.filter((recipient) => !recipient.outcome)
    if (open.length === 0) break
    const refusals = await check(open, context)
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
  key?: KeyToTake,
): Claim {
  const createdAtMs = clock.now()
  return {
    messageId: newId(createdAtMs),
    accountId,
    claim: randomUUID(),
    leaseMs: leaseOf(sendBudgetMs),
    createdAtMs,
    tenantId: message.tenantId,
    region,
    domain: message.from.domain,
    request: storedRequest(message, storeContent),
    recipients: message.to.map(({ address }) => ({ eventId: newId(createdAtMs), email: address })),
    key,
  }
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

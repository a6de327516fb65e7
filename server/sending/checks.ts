import { create } from '@bufbuild/protobuf'
import {
  Reason,
  type RecipientOutcome,
  SmtpEvidenceSchema,
  SmtpPhase,
  type Suppression,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { type Address, isSpecialUse, matchingForm } from '../../mail/address.ts'
import type { Engine, MxLookup, Site } from '../../mail/smtp/attempt.ts'
import { demandTls } from '../../mail/smtp/tls.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { SenderDomain } from '../domains/sender.ts'
import { fail } from '../errors.ts'
import { BREAKER_REFUSED, type Breaker } from '../reputation/breaker.ts'
import type { MonthlyVolume, MonthQuota } from '../reputation/quota.ts'
import type { createSuppressionLookup } from '../reputation/suppression.ts'
import type { DailyVolume, WarmUpDay } from '../reputation/warm-up.ts'
import { bounced, inTenths, rejected } from './outcome.ts'
import type { Recipient } from './recipients.ts'

// The checks of a send before its claim. `CHECKS` in send.ts has their order.

const DAY_MS = 86_400_000

/** A recipient in the checks. The check that refuses it sets its outcome; the MX look-up sets its site and its time. */
export interface CheckedRecipient extends Recipient {
  /** What the simulator does with the address; undefined for an address of others. */
  simulated?: Simulated
  outcome?: RecipientOutcome
  site?: Site
  dnsMs?: number
}

/** Returns what a simulator address stands for; undefined for every other address. */
export type SimulatorRoute = (address: Address) => Simulated | undefined

export interface Simulated {
  /** The outcome that a dry run shows. */
  outcome: { status: 'delivered' | 'bounced' | 'rejected'; reason?: string }
  /** How a real send gets that outcome: a check refuses it, or it is sent to a server of the simulator. */
  route: { kind: 'suppression_list' } | MxLookup
}

export interface CheckContext extends Rules {
  accountId: string
  tenantId?: string
  sandbox: boolean
  domain: SenderDomain
  /** The day of a domain that warms up. */
  warmUp?: WarmUpDay
  /** The quota of the account's month, when its tier has one. */
  quota?: MonthQuota
  /** When the send began, on the clock of `performance.now()`. */
  startedAtMs: number
  sendBudgetMs: number
  signal: AbortSignal
}

/** What the checks look up. */
export interface Rules {
  engine: Engine
  clock: DatabaseClock
  /** Domains with a static route are exempt from the checks of their name. */
  hasStaticRoute(domain: string): boolean
  /** Emails of a domain on a day so far. */
  dailyVolume: DailyVolume
  /** Emails of an account with a quota in a month so far. */
  monthlyVolume: MonthlyVolume
  breaker: Breaker
  suppressed: ReturnType<typeof createSuppressionLookup>
}

/** Why a check refuses a recipient: its outcome, and a sentence for a dry run. */
export interface CheckRefusal {
  outcome: RecipientOutcome
  detail: string
}

/**
 * One check of the recipients that are still undecided. Returns a refusal for each that it refuses, and throws an error
 * when it refuses the whole message.
 */
export type Check = (recipients: CheckedRecipient[], context: CheckContext) => Promise<(CheckRefusal | undefined)[]>

/** The sending domain, which belongs to the account, must be verified. */
export const domainIsVerified: Check = async (recipients, { domain }) =>
  domain.status === 'verified'
    ? []
    : recipients.map((recipient) => ({
        outcome: rejected(recipient, Reason.DOMAIN_NOT_VERIFIED),
        detail: `${domain.name} is ${domain.status}. Publish its DNS records and verify it`,
      }))

/** Refuses a message that would exceed the daily limit of a domain that warms up. The claim makes the limit exact. */
export const warmUpAllows: Check = async (recipients, context) => {
  const { accountId, domain, warmUp, clock, dailyVolume } = context
  const copies = countedRecipients(recipients)
  if (!warmUp || copies === 0) return []
  const sent = await dailyVolume(accountId, domain.name, warmUp.date)
  if (sent + copies > warmUp.dailyLimit) throw overWarmUp(domain.name, warmUp, clock)
  return []
}

/** Refuses a message that would exceed the quota of its account. The claim makes the limit exact. */
export const quotaAllows: Check = async (recipients, context) => {
  const { accountId, quota, clock, monthlyVolume } = context
  const copies = countedRecipients(recipients)
  if (!quota || copies === 0) return []
  if ((await monthlyVolume(accountId, quota.month)) + copies > quota.monthlyLimit) throw overQuota(quota, clock)
  return []
}

export function overQuota({ monthlyLimit, endsAtMs }: MonthQuota, clock: DatabaseClock) {
  const end = new Date(endsAtMs).toISOString().slice(0, 10)
  return fail(
    'rate_limit_exceeded',
    `The quota of this account is ${monthlyLimit} emails a month, and this message would exceed it. The month ends at ${end} 00:00 UTC. Nothing was sent. See GET /api/v1/limits.`,
    {
      retryAfterSeconds: Math.max(1, Math.ceil((endsAtMs - clock.now()) / 1_000)),
      gist: 'The monthly quota of the account was used up.',
    },
  )
}

export function overWarmUp(domain: string, { day, dailyLimit }: WarmUpDay, clock: DatabaseClock) {
  return fail(
    'rate_limit_exceeded',
    `${domain} is on day ${day} of its warm-up: ${dailyLimit} emails a day, and this message would exceed that. Nothing was sent.`,
    {
      retryAfterSeconds: Math.ceil((DAY_MS - (clock.now() % DAY_MS)) / 1_000),
      gist: 'The warm-up of the sending domain allowed no more on this day.',
    },
  )
}

/** While too many emails of a domain bounce or cause complaints, its circuit breaker admits none or few. */
export const breakerAllows: Check = async (recipients, context) => {
  const { accountId, domain, sandbox, breaker } = context
  const copies = countedRecipients(recipients)
  if (copies === 0) return []
  const refusal = sandbox
    ? await breaker.peek(accountId, domain.name)
    : await breaker.admit(accountId, domain.name, copies)
  if (refusal?.retryAfterSeconds === undefined) return []
  throw fail(
    'rate_limit_exceeded',
    `Too many emails of ${domain.name} bounced or were complained about: its circuit breaker is ${refusal.state}. Nothing was sent. See GET /api/v1/stats.`,
    { retryAfterSeconds: refusal.retryAfterSeconds, gist: BREAKER_REFUSED },
  )
}

/** The simulator's addresses count in no warm-up, no quota and no breaker. */
export const countedRecipients = (recipients: CheckedRecipient[]) =>
  recipients.filter(({ outcome, simulated }) => !outcome && !simulated).length

/** Nothing under a special-use top-level domain (RFC 6761) can ever be mailed. */
export const addressCanBeMailed: Check = async (recipients, { hasStaticRoute }) =>
  recipients.map((recipient) => {
    const { address, simulated } = recipient
    const simulatedKind = simulated?.route.kind
    if (simulatedKind === 'invalid_address') return neverMailed(recipient, 'this simulator address is never mailed')
    if (simulatedKind || hasStaticRoute(address.domain) || !isSpecialUse(address.domain)) return undefined
    return neverMailed(recipient, `${address.domain} is under a special-use top-level domain`)
  })

/** No suppression entry applies to the address: global, account or tenant. When the look-up fails, nothing is sent. */
export const addressIsNotSuppressed: Check = async (recipients, { accountId, tenantId, suppressed }) => {
  const addresses = recipients.filter(({ simulated }) => !simulated).map(({ address }) => matchingForm(address))
  const entries =
    addresses.length > 0 ? await suppressed({ accountId, tenantId, addresses }) : new Map<string, Suppression>()
  return recipients.map((recipient) => {
    const { address, simulated } = recipient
    if (simulated?.route.kind === 'suppression_list') {
      return suppressedAddress(recipient, 'this simulator address is suppressed')
    }
    const entry = entries.get(matchingForm(address))
    return entry && suppressedAddress(recipient, 'the address is on a suppression list', entry)
  })
}

function suppressedAddress(recipient: Recipient, detail: string, entry?: Suppression): CheckRefusal {
  const outcome = rejected(recipient, Reason.SUPPRESSION_LIST)
  outcome.suppression = entry
  return { outcome, detail }
}

/** The recipient's domain has a server that may be dialled. */
export const exchangerIsKnown: Check = async (recipients, { signal, ...context }) => {
  const lookUps = new AbortController()
  // Abort reasons are strings: the default reason is an error with a stack, for every send.
  const leave = () => lookUps.abort(LEFT)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const refusals: (CheckRefusal | undefined)[] = []
  const queue = recipients.entries()
  async function lookUpFromQueue(): Promise<void> {
    for (const [i, recipient] of queue)
      refusals[i] = await findExchanger(recipient, { ...context, signal: lookUps.signal })
  }
  try {
    await Promise.all(Array.from({ length: Math.min(recipients.length, CONCURRENT_LOOK_UPS) }, lookUpFromQueue))
    return refusals
  } catch (error) {
    // When one look-up fails, nothing is sent: the others are not needed any more.
    lookUps.abort(NEEDLESS)
    throw error
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/**
 * The concurrent look-ups of one message. When its domains are silent, the first few look-ups fail the message, and the
 * others are not made.
 */
const CONCURRENT_LOOK_UPS = 16

const LEFT = 'the caller left'
const NEEDLESS = 'another look-up of the message failed'

async function findExchanger(
  recipient: CheckedRecipient,
  { accountId, domain, engine, startedAtMs, sendBudgetMs, signal }: CheckContext,
): Promise<CheckRefusal | undefined> {
  const { address } = recipient
  if (signal.reason === NEEDLESS) return undefined
  const beganMs = performance.now()
  const route = recipient.simulated?.route
  const options = { accountId, startedAtMs, budgetMs: sendBudgetMs, signal }
  const lookup = route && route.kind !== 'suppression_list' ? route : await engine.lookUp(address.domain, options)
  const dnsMs = performance.now() - beganMs
  const evidenceOf = (detail: string) => {
    return { phase: SmtpPhase.DNS, durationMs: Math.round(dnsMs), detail, timings: inTenths({ dns: dnsMs }) }
  }
  switch (lookup.kind) {
    case 'site':
      // The simulator's mail server runs in this process.
      recipient.dnsMs = dnsMs
      recipient.site = domain.requiresTls && !route ? demandTls(lookup.site, 'the sending domain') : lookup.site
      return undefined
    case 'no_mx_record':
    case 'no_permitted_mx': {
      const { detail } = lookup
      const reason = lookup.kind === 'no_mx_record' ? Reason.NO_MX_RECORD : Reason.POLICY_BLOCK
      return { outcome: bounced(recipient, reason, evidenceOf(detail)), detail }
    }
    case 'invalid_address': {
      const refusal = neverMailed(recipient, lookup.detail)
      refusal.outcome.smtp = create(SmtpEvidenceSchema, evidenceOf(lookup.detail))
      return refusal
    }
    case 'our_fault':
      if (signal.reason === NEEDLESS) return undefined
      throw fail(
        'transient_failure',
        `The DNS look-up of ${address.domain} failed: ${lookup.cause}. Nothing was sent; it is safe to retry.`,
      )
  }
}

function neverMailed(recipient: Recipient, detail: string): CheckRefusal {
  return { outcome: rejected(recipient, Reason.INVALID_ADDRESS), detail }
}

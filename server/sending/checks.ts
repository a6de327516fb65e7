import { create } from '@bufbuild/protobuf'
import {
  Reason,
  type RecipientOutcome,
  SmtpEvidenceSchema,
  SmtpPhase,
  type Suppression,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { type Address, isSpecialUse, matchingForm } from '../address.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { SenderDomain } from '../domains/sender.ts'
import { fail } from '../errors.ts'
import type { Breaker } from '../reputation/breaker.ts'
import type { suppressionLookup } from '../reputation/suppression.ts'
import type { DailyVolume, WarmUpDay } from '../reputation/warm-up.ts'
import type { Engine, MxLookup, Site } from '../smtp/attempt.ts'
import { demandTls } from '../smtp/tls.ts'
import { bounced, rejected } from './outcome.ts'

const DAY_MS = 86_400_000

/** One recipient on its way through the checks: it gets an outcome from the one that refuses it, a site once its server is known. */
export interface Recipient {
  address: Address
  outcome?: RecipientOutcome
  site?: Site
}

/** What an address of the simulator stands for; undefined for every other address. */
export type SimulatorRoute = (address: Address) => Simulated | undefined

export interface Simulated {
  /** What a dry run answers. */
  outcome: { status: 'delivered' | 'bounced' | 'rejected'; reason?: string }
  /** How a real send gets there: refused by a check, or with a place to send to. */
  route: { kind: 'suppression_list' } | MxLookup
}

export interface CheckContext extends Rules {
  accountId: string
  tenantId?: string
  sandbox: boolean
  domain: SenderDomain
  /** The day of a domain that warms up. */
  warmUp?: WarmUpDay
  /** When the send began, on the clock of `performance.now()`. */
  startedAtMs: number
  sendBudgetMs: number
  signal: AbortSignal
}

/** What the checks ask. */
export interface Rules {
  engine: Engine
  clock: DatabaseClock
  simulated: SimulatorRoute
  /** Domains with a static route are exempt from the checks of their name. */
  hasStaticRoute(domain: string): boolean
  /** Emails of a domain on a day so far. */
  dailyVolume: DailyVolume
  breaker: Breaker
  suppressed: ReturnType<typeof suppressionLookup>
}

/** Why a check stands against a recipient: its outcome, and words for a dry run. */
export interface Refusal {
  outcome: RecipientOutcome
  detail: string
}

/** One check of the recipients that are still undecided: a refusal for each that it stands against. Throws what refuses the whole message. */
export type Check = (open: Recipient[], context: CheckContext) => Promise<(Refusal | undefined)[]>

/** The sending domain belongs to the account; it must be verified too. */
export const domainIsVerified: Check = async (open, { domain }) =>
  domain.status === 'verified'
    ? []
    : open.map(({ address }) => ({
        outcome: rejected(address.address, Reason.DOMAIN_NOT_VERIFIED),
        detail: `${domain.name} is ${domain.status}. Publish its DNS records and verify it`,
      }))

/** A message that goes over the day's volume of a domain that warms up is refused as a whole. The claim has the last word. */
export const warmUpAllows: Check = async (open, context) => {
  const { accountId, domain, warmUp, clock, dailyVolume } = context
  const emails = countedEmails(open, context)
  if (!warmUp || emails === 0) return []
  const sent = await dailyVolume(accountId, domain.name, warmUp.date)
  if (sent + emails > warmUp.dailyLimit) throw overWarmUp(domain.name, warmUp, clock)
  return []
}

export function overWarmUp(domain: string, { day, dailyLimit }: WarmUpDay, clock: DatabaseClock) {
  return fail(
    'rate_limit_exceeded',
    `${domain} is on day ${day} of its warm-up: ${dailyLimit} emails a day, and this message would go over it. Nothing was sent.`,
    { retryAfterSeconds: Math.ceil((DAY_MS - (clock.now() % DAY_MS)) / 1_000) },
  )
}

/** While too many emails of a domain bounce or are complained about, its circuit breaker lets none or few through. */
export const breakerAllows: Check = async (open, context) => {
  const { accountId, domain, sandbox, breaker } = context
  const emails = countedEmails(open, context)
  if (emails === 0) return []
  const refusal = sandbox
    ? await breaker.peek(accountId, domain.name)
    : await breaker.admit(accountId, domain.name, emails)
  if (refusal?.retryAfterSeconds === undefined) return []
  throw fail(
    'rate_limit_exceeded',
    `Too many emails of ${domain.name} bounced or were complained about: its circuit breaker is ${refusal.state}. Nothing was sent. See GET /api/v1/stats.`,
    { retryAfterSeconds: refusal.retryAfterSeconds },
  )
}

/** The simulator's addresses count in no warm-up and no breaker. */
export const countedEmails = (recipients: Recipient[], { simulated }: Pick<Rules, 'simulated'>) =>
  recipients.filter(({ address, outcome }) => !outcome && !simulated(address)).length

/** Nothing under a special-use top-level domain (RFC 6761) can ever be mailed. */
export const addressCanBeMailed: Check = async (open, { simulated, hasStaticRoute }) =>
  open.map(({ address }) => {
    const simulatedKind = simulated(address)?.route.kind
    if (simulatedKind === 'invalid_address') return neverMailed(address, 'this simulator address is never mailed')
    if (simulatedKind || hasStaticRoute(address.domain) || !isSpecialUse(address.domain)) return undefined
    return neverMailed(address, `${address.domain} is under a special-use top-level domain`)
  })

/** No suppression entry holds for the address: global, of the account, or of the tenant. When that cannot be known nothing is sent. */
export const addressIsNotSuppressed: Check = async (open, { accountId, tenantId, suppressed, simulated }) => {
  const emails = open.filter(({ address }) => !simulated(address)).map(({ address }) => matchingForm(address))
  const entries = emails.length > 0 ? await suppressed({ accountId, tenantId, emails }) : new Map<string, Suppression>()
  return open.map(({ address }) => {
    if (simulated(address)?.route.kind === 'suppression_list') {
      return suppressedAddress(address, 'this simulator address is suppressed')
    }
    const entry = entries.get(matchingForm(address))
    return entry && suppressedAddress(address, 'the address is on a suppression list', entry)
  })
}

function suppressedAddress({ address }: Address, detail: string, entry?: Suppression): Refusal {
  const outcome = rejected(address, Reason.SUPPRESSION_LIST)
  outcome.suppression = entry
  return { outcome, detail }
}

/** The recipient's domain has a server that may be dialled. */
export const exchangerIsKnown: Check = async (open, { signal, ...context }) => {
  const asking = new AbortController()
  // Reasons of our own: the usual one is an error with a stack, for every send.
  const leave = () => asking.abort(LEFT)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const refusals: (Refusal | undefined)[] = []
  const queue = open.entries()
  async function lane(): Promise<void> {
    for (const [i, one] of queue) refusals[i] = await findExchanger(one, { ...context, signal: asking.signal })
  }
  try {
    await Promise.all(Array.from({ length: Math.min(open.length, LOOK_UPS_AT_ONCE) }, lane))
    return refusals
  } catch (error) {
    // When one cannot be known nothing is sent: the others need not be asked any more.
    asking.abort(NEEDLESS)
    throw error
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** Of one message: fifty silent domains are found out by the first few. What is known already takes no time at all. */
const LOOK_UPS_AT_ONCE = 16

const LEFT = 'the caller left'
const NEEDLESS = 'another look-up of the message failed'

async function findExchanger(
  recipient: Recipient,
  { accountId, domain, engine, simulated, startedAtMs, sendBudgetMs, signal }: CheckContext,
): Promise<Refusal | undefined> {
  const { address } = recipient
  if (signal.reason === NEEDLESS) return undefined
  const startedAt = performance.now()
  const evidenceOf = (detail: string) => {
    return { phase: SmtpPhase.DNS, durationMs: Math.round(performance.now() - startedAt), detail }
  }
  const route = simulated(address)?.route
  const asker = { turn: accountId, startedAtMs, budgetMs: sendBudgetMs, signal }
  const lookup = route && route.kind !== 'suppression_list' ? route : await engine.lookUp(address.domain, asker)
  switch (lookup.kind) {
    case 'site':
      // The simulator's mail server is this very process.
      recipient.site = domain.requiresTls && !route ? demandTls(lookup.site, 'the sending domain') : lookup.site
      return undefined
    case 'no_mx_record':
    case 'no_permitted_mx': {
      const { detail } = lookup
      const reason = lookup.kind === 'no_mx_record' ? Reason.NO_MX_RECORD : Reason.POLICY_BLOCK
      return { outcome: bounced(address.address, reason, evidenceOf(detail)), detail }
    }
    case 'invalid_address': {
      const refusal = neverMailed(address, lookup.detail)
      refusal.outcome.smtp = create(SmtpEvidenceSchema, evidenceOf(lookup.detail))
      return refusal
    }
    case 'our_fault':
      if (signal.reason === NEEDLESS) return undefined
      throw fail(
        'transient_failure',
        `The DNS of ${address.domain} could not be asked: ${lookup.cause}. Nothing was sent; it is safe to retry.`,
      )
  }
}

function neverMailed(address: Address, detail: string): Refusal {
  return { outcome: rejected(address.address, Reason.INVALID_ADDRESS), detail }
}

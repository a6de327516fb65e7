import { Reason, type RecipientOutcome, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { SenderDomain } from '../domains/sender.ts'
import { fail } from '../errors.ts'
import { type Address, isSpecialUse } from '../smtp/address.ts'
import type { Engine, Lookup, Site } from '../smtp/attempt.ts'
import { bounced, rejected } from './outcome.ts'

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
  route: { kind: 'suppression_list' } | Lookup
}

export interface CheckContext {
  domain: SenderDomain
  engine: Engine
  simulated: SimulatorRoute
  /** Domains with a static route are exempt from the checks of their name. */
  hasStaticRoute(domain: string): boolean
  signal: AbortSignal
}

/** Why a check stands against a recipient: its outcome, and words for a dry run. */
export interface Refusal {
  outcome: RecipientOutcome
  detail: string
}

/** One check of one recipient: nothing when nothing stands against it. */
export type RecipientCheck = (
  recipient: Recipient,
  context: CheckContext,
) => Refusal | undefined | Promise<Refusal | undefined>

/** The sending domain belongs to the account; it must be verified too. */
export const domainIsVerified: RecipientCheck = ({ address }, { domain }) =>
  domain.status === 'verified'
    ? undefined
    : {
        outcome: rejected(address.address, Reason.DOMAIN_NOT_VERIFIED),
        detail: `${domain.name} is ${domain.status}. Publish its DNS records and verify it`,
      }

/** Nothing under a special-use top-level domain (RFC 6761) can ever be mailed. */
export const addressCanBeMailed: RecipientCheck = ({ address }, { simulated, hasStaticRoute }) => {
  const simulatedKind = simulated(address)?.route.kind
  if (simulatedKind === 'invalid_address') return neverMailed(address, 'this simulator address is never mailed')
  if (simulatedKind || hasStaticRoute(address.domain) || !isSpecialUse(address.domain)) return undefined
  return neverMailed(address, `${address.domain} is under a special-use top-level domain`)
}

/** The simulator's stand-in for a suppressed address. */
export const addressIsNotSuppressed: RecipientCheck = ({ address }, { simulated }) =>
  simulated(address)?.route.kind === 'suppression_list'
    ? { outcome: rejected(address.address, Reason.SUPPRESSION_LIST), detail: 'this simulator address is suppressed' }
    : undefined

/** The recipient's domain has a server that may be dialled. */
export const exchangerIsKnown: RecipientCheck = async (recipient, { engine, simulated, signal }) => {
  const { address } = recipient
  const startedAt = performance.now()
  const route = simulated(address)?.route
  const lookup = route && route.kind !== 'suppression_list' ? route : await engine.lookUp(address.domain, signal)
  switch (lookup.kind) {
    case 'site':
      recipient.site = lookup.site
      return undefined
    case 'no_mx_record': {
      const evidence = { phase: SmtpPhase.DNS, durationMs: Math.round(performance.now() - startedAt) }
      return { outcome: bounced(address.address, Reason.NO_MX_RECORD, evidence), detail: lookup.detail }
    }
    case 'invalid_address':
      return neverMailed(address, lookup.detail)
    case 'our_fault':
      throw fail(
        'transient_failure',
        `The DNS of ${address.domain} could not be asked: ${lookup.cause}. Nothing was sent; it is safe to retry.`,
      )
  }
}

function neverMailed(address: Address, detail: string): Refusal {
  return { outcome: rejected(address.address, Reason.INVALID_ADDRESS), detail }
}

import type { SlotRequest } from '../../net/fair-slots.ts'
import { type Answer, type Exchange, NO_SLOT } from '../dns/resolver.ts'
import type { MxLookup } from './attempt.ts'
import { addressesOf, dialOrder, type ExchangerOptions, type Exchangers, siteOf } from './exchangers.ts'
import { permits } from './mta-sts.ts'
import type { PolicyOf } from './sts-policies.ts'
import { demandTls, UNCHECKED_POLICY } from './tls.ts'

/** Where the mail of a domain goes, whatever DNS says. The operator sets it, so neither MX nor address is checked. */
export interface Route {
  /** A name or an IP address. */
  host: string
  port: number
}

export interface MxOptions extends ExchangerOptions {
  /** By domain, in lower case. */
  routes: ReadonlyMap<string, Route>
  /**
   * The MTA-STS policy of a domain; not called for a domain with a route. Never rejects. When absent, no domain has
   * one.
   */
  policyOf?: PolicyOf
}

/** The exchangers that a refusal by policy names as examples. */
const EXAMPLES = 2

/** Finds the exchangers of a domain (RFC 5321 5.1, null MX by RFC 7505), at most two, in the order to be tried. */
export function createMxLookUp({ routes, policyOf, ...options }: MxOptions) {
  return async function lookUp(domain: string, request?: SlotRequest): Promise<MxLookup> {
    const name = domain.toLowerCase().replace(/\.$/, '')
    const route = routes.get(name)
    if (route) return siteOfRoute(options, route, request)
    const askedMs = performance.now()
    // The look-ups run side by side; the policy is awaited only when there are exchangers to judge.
    const policy = policyOf?.(name, request)
    const answer = await options.resolver.mx(name, request)
    const lookup = await siteByAnswer(name, answer, { name, policy, request })
    // A domain without MX records is its own exchanger, which may be an address that DNS gives every name.
    const isDenied = answer.kind === 'nodata' || lookup.kind !== 'site'
    if (!isDenied || lookup.kind === 'our_fault') return lookup
    if ((await options.resolver.isFact?.(name, askedMs)) ?? true) return lookup
    const detail = lookup.kind === 'site' ? `${name} has no MX records` : lookup.detail
    return { kind: 'our_fault', cause: `${detail}, while DNS finds no other domains that it found before` }
  }

  async function siteByAnswer(name: string, answer: Answer<Exchange>, judged: Judged): Promise<MxLookup> {
    switch (answer.kind) {
      case 'failure':
        return { kind: 'our_fault', cause: answer.cause }
      case 'nxdomain':
        return { kind: 'no_mx_record', detail: `${name} does not exist (NXDOMAIN)` }
      case 'nodata': {
        const withoutAddress = `${name} has neither MX nor A nor AAAA records`
        const found = { exchanges: [{ name, preference: 0 }], withoutAddress, ...nextHopOf(name, answer) }
        return permittedSite(options, found, judged)
      }
      case 'records': {
        const exchanges = answer.records.filter((exchange) => exchange.name !== '')
        if (exchanges.length === 0) return { kind: 'invalid_address', detail: `${name} accepts no mail (null MX)` }
        const withoutAddress = `none of the mail exchangers of ${name} has an address`
        return permittedSite(options, { exchanges, withoutAddress, ...nextHopOf(name, answer) }, judged)
      }
    }
  }
}

function nextHopOf(name: string, { secure, canonicalName }: { secure?: true; canonicalName?: string }) {
  return secure && { nextHop: [name, ...(canonicalName === undefined ? [] : [canonicalName])] }
}

interface Judged {
  name: string
  policy: ReturnType<PolicyOf> | undefined
  request: SlotRequest | undefined
}

/** The site of the exchangers that the policy permits, if its mode is `enforce` (RFC 8461 4.1). */
async function permittedSite(
  options: ExchangerOptions,
  found: Exchangers,
  { name, policy: asked, request }: Judged,
): Promise<MxLookup> {
  const policy = await asked
  if (policy === 'no_slot') return { kind: 'our_fault', cause: `DNS TXT _mta-sts.${name}: ${NO_SLOT}` }
  if (policy?.mode !== 'enforce') return siteOf(options, found, request)
  const names = found.exchanges.slice(0, EXAMPLES).map((exchange) => exchange.name)
  const { isUnchecked } = policy
  const withoutPermission = isUnchecked
    ? `the MTA-STS policy of ${name} does not permit all of its mail exchangers, and a newer one could not be read`
    : `the MTA-STS policy of ${name} permits none of its mail exchangers (${names.join(', ')})`
  const isPermitted = (exchange: string) => permits(policy, exchange)
  // An exchanger that is not permitted counts when its TLSA records may prove what it is, or a newer policy permit it.
  const mayCount = (exchange: string) => found.nextHop || isUnchecked || isPermitted(exchange)
  const exchanges = found.exchanges.filter((exchange) => mayCount(exchange.name))
  if (exchanges.length === 0) return { kind: 'no_permitted_mx', detail: withoutPermission }
  const withoutAddress = `no mail exchanger that the MTA-STS policy of ${name} permits has an address`
  const judging = { permits: isPermitted, isUnchecked, withoutPermission }
  const lookup = await siteOf(options, { ...found, exchanges, withoutAddress, policy: judging }, request)
  const by = isUnchecked ? UNCHECKED_POLICY : 'MTA-STS'
  return lookup.kind === 'site' ? { kind: 'site', site: demandTls(lookup.site, by) } : lookup
}

async function siteOfRoute(
  { resolver, random }: ExchangerOptions,
  { host: name, port }: Route,
  request: SlotRequest | undefined,
): Promise<MxLookup> {
  const { addresses, failure } = await addressesOf(resolver, name, request)
  if (addresses.length === 0) return { kind: 'our_fault', cause: failure ?? `the route's host ${name} has no address` }
  const host = { name, preference: 0, addresses: dialOrder(addresses, random), port }
  const skipped = failure === undefined ? undefined : [{ mx: name, detail: failure, isOurs: true, isPart: true }]
  return { kind: 'site', site: { key: `${name}:${port}`, hosts: [host], ...(skipped && { skipped }) } }
}

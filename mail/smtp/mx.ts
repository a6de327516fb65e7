import { isIP } from 'node:net'
import type { SlotRequest } from '../../net/fair-slots.ts'
import { type Exchange, NO_SLOT } from '../dns/resolver.ts'
import type { MxLookup } from './attempt.ts'
import { createExchangers, type ExchangerOptions } from './exchangers.ts'
import { permits } from './mta-sts.ts'
import type { PolicyOf } from './sts-policies.ts'
import { demandTls } from './tls.ts'

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
  const { resolver } = options
  const exchangers = createExchangers(options)

  return async function lookUp(domain: string, request?: SlotRequest): Promise<MxLookup> {
    const name = domain.toLowerCase().replace(/\.$/, '')
    const route = routes.get(name)
    if (route) return siteOfRoute(route, request)
    // The look-ups run side by side; the policy is awaited only when there are exchangers to judge.
    const policy = policyOf?.(name, request)
    const answer = await resolver.mx(name, request)
    switch (answer.kind) {
      case 'failure':
        return { kind: 'our_fault', cause: answer.cause }
      case 'nxdomain':
        return { kind: 'no_mx_record', detail: `${name} does not exist (NXDOMAIN)` }
      case 'nodata':
        return permittedSite([{ name, preference: 0 }], `${name} has neither MX nor A nor AAAA records`)
      case 'records': {
        const exchanges = answer.records.filter((exchange) => exchange.name !== '')
        if (exchanges.length === 0) return { kind: 'invalid_address', detail: `${name} accepts no mail (null MX)` }
        return permittedSite(exchanges, `none of the mail exchangers of ${name} has an address`)
      }
    }

    /** The site of the exchangers that the policy permits, if its mode is `enforce` (RFC 8461 4.1). */
    async function permittedSite(exchanges: Exchange[], withoutAddress: string): Promise<MxLookup> {
      const domainPolicy = await policy
      if (domainPolicy === 'no_slot') return { kind: 'our_fault', cause: `DNS TXT _mta-sts.${name}: ${NO_SLOT}` }
      if (domainPolicy?.mode !== 'enforce') return exchangers.siteOf(exchanges, withoutAddress, request)
      const permitted = exchanges.filter((exchange) => permits(domainPolicy, exchange.name))
      const names = exchanges.slice(0, EXAMPLES).map((exchange) => exchange.name)
      const refusal = `the MTA-STS policy of ${name} permits none of its mail exchangers (${names.join(', ')})`
      if (permitted.length === 0) return { kind: 'no_permitted_mx', detail: refusal }
      const permittedWithoutAddress = `no mail exchanger that the MTA-STS policy of ${name} permits has an address`
      const lookup = await exchangers.siteOf(permitted, permittedWithoutAddress, request)
      return lookup.kind === 'site' ? { kind: 'site', site: demandTls(lookup.site, 'MTA-STS') } : lookup
    }
  }

  async function siteOfRoute({ host: name, port }: Route, request?: SlotRequest): Promise<MxLookup> {
    const isName = isIP(name) === 0
    const { addresses, failure } = isName ? await exchangers.addressesOf(name, request) : { addresses: [name] }
    if (addresses.length === 0)
      return { kind: 'our_fault', cause: failure ?? `the route's host ${name} has no address` }
    const host = { name, preference: 0, addresses: exchangers.dialOrder(addresses), port }
    return { kind: 'site', site: { key: `${name}:${port}`, hosts: [host] } }
  }
}

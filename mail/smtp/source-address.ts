import { isIPv6 } from 'node:net'
import type { MailSources, Site } from './attempt.ts'
import type { ShapeOf } from './shaping.ts'
import type { SiteOfAddress } from './site-places.ts'

/** The address that mail to a site leaves from, or why there is none. The system chooses where both are absent. */
export type Source = { address?: string } | { cause: string }

interface Mail {
  site: Site
  domain: string
  /** The number of its recipients at the site. */
  emails: number
}

/**
 * One of the addresses, if possible of a family that reaches the site. No mail leaves from an address that is not
 * listed.
 */
export async function sourceFor(
  { site, domain, emails }: Mail,
  { addresses, choose }: MailSources,
  { shapeOf, random }: { shapeOf: ShapeOf; random: () => number },
): Promise<Source> {
  if (addresses.length === 0) return {}
  const families = new Set(site.hosts.flatMap((host) => host.addresses.map(isIPv6)))
  const matching = addresses.filter((address) => families.has(isIPv6(address)))
  const usable = matching.length > 0 ? matching : addresses.slice(0, 1)
  if (!choose || site.limits) return { address: usable[Math.floor(random() * usable.length)] }
  const provider = shapeOf(site, domain).provider ?? site.name ?? site.key
  const address = await choose(usable, provider, emails)
  return address === undefined ? { cause: `no address may send more emails to ${provider} today` } : { address }
}

/** The site as the pool knows it. */
export function siteOfAddress(site: Site, domain: string, shapeOf: ShapeOf, address = ''): SiteOfAddress {
  if (site.limits)
    return { key: `${address} ${site.key}`, address, name: site.key, limits: site.limits, isPrivate: true }
  const { limits, isOwnSite } = shapeOf(site, domain)
  const name = isOwnSite ? domain : (site.name ?? site.key)
  return { key: `${address} ${isOwnSite ? `${domain} ` : ''}${site.key}`, address, name, limits }
}

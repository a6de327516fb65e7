import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Whether this process may open a connection to an IP address (a literal, never a name). */
export type Guard = (address: string) => boolean

/** Azure's host answers each of its machines there: metadata, DNS and the agent's configuration. */
const AZURE_HOST = '168.63.129.16'

type Subnet = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** All of IPv6 that is allocated today (RFC 4291 2.4); the rest is unassigned, whatever ipaddr.js calls its range. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Permits global unicast addresses only. It refuses private, reserved and documentation addresses, those that hide an
 * IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP), and a cloud's host service at a global address. Each of
 * `allowSubnets` (CIDR) opens a range of its own family. Throws on an invalid subnet.
 */
export function createGuard({ allowSubnets }: { allowSubnets: readonly string[] }): Guard {
  const isAllowed = withinSubnets(allowSubnets)
  return (address) => {
    const ip = parseAddress(address)
    return ip !== undefined && (isGlobalUnicast(ip) || isAllowed(address))
  }
}

/** Permits only addresses in one of the subnets (CIDR). Throws on an invalid subnet. */
export function withinSubnets(subnets: readonly string[]): Guard {
  const ranges = subnets.map(parseSubnet)
  return (address) => {
    const ip = parseAddress(address)
    return ip !== undefined && ranges.some(([base, bits]) => base.kind() === ip.kind() && ip.match(base, bits))
  }
}

function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // ipaddr.js alone would also accept `127.1` and `0x7f.0.0.1`.
  return isIP(address) === 0 || address.includes('%') ? undefined : ipaddr.parse(address)
}

function isGlobalUnicast(ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (ip.range() !== 'unicast') return false
  if (ip instanceof ipaddr.IPv4) return ip.toString() !== AZURE_HOST
  return ip.match(GLOBAL_UNICAST_V6) && !isIsatap(ip)
}

/** Whether the interface identifier is `::5efe:<IPv4>` (RFC 5214 6.1), in any prefix and with either u bit. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  const [, , , , u, ier] = parts
  return u !== undefined && (u & ~0x0200) === 0 && ier === 0x5efe
}

function parseSubnet(subnet: string): Subnet {
  const [address = ''] = subnet.split('/')
  if (isIP(address) === 0 || !ipaddr.isValidCIDR(subnet)) throw new TypeError(`not a subnet: ${subnet} (10.0.0.0/8)`)
  return ipaddr.parseCIDR(subnet)
}

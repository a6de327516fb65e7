import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Whether a server of DNS_SERVERS is on this machine or in a private network (RFC 1918, RFC 4193). */
export function isOwnDnsServer(server: string): boolean {
  const address = isIP(server) === 0 ? server.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') : server
  return ['loopback', 'private', 'uniqueLocal'].includes(ipaddr.process(address).range())
}

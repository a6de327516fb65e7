import type { SendingHosts } from '../domains/records.ts'
import { hostsOfAllDomains } from '../domains/sending-pool.ts'

/** The addresses that other servers see mail come from, and the name that they are greeted with. */
export function ourNames(hosts: SendingHosts): string[] {
  const { sourceAddresses, bounceHost } = hostsOfAllDomains(hosts)
  return bounceHost ? [...sourceAddresses, bounceHost] : [...sourceAddresses]
}
